"""Nine questions of a newcomer, answered from the page alone, compared with the atlas and the model."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import headatlas as ha
from support.pages import looking
from support.questions import NAMES, QUESTIONS, SEPARATORS, answers, head_in


@pytest.fixture(scope="module")
def answered(browser, live):
    with looking(browser, size=(1280, 800)) as page:
        return {answer.name: answer for answer in answers(page, live)}


def means(atlas, name):
    """The mean of a statistic for each head (layer, head)."""
    names = list(atlas.array("stats").attrs["stats"])
    return np.nanmean(atlas.read("stats")[..., names.index(name)].astype(np.float64), axis=0)


def named(place):
    return "L{}·H{}".format(*place)


def largest(values):
    return named(np.unravel_index(int(np.nanargmax(values)), values.shape))


def test_every_question_takes_few_clicks(answered):
    assert [*answered] == [ask.__name__ for ask in QUESTIONS]
    assert {name: answer.clicks for name, answer in answered.items() if answer.clicks > 7} == {}


def test_the_previous_token_head(answered, demo):
    assert head_in(answered["previous_token_head"].answer) == largest(means(demo, "previous"))


def test_heads_on_separators_and_their_texts(answered, demo):
    names = list(demo.array("stats").attrs["stats"])
    declared = next(name for name in names if ha.statistics.statistic(name).label == SEPARATORS)
    answer = answered["separator_heads"].answer
    head = largest(means(demo, declared))
    assert answer.startswith(f"{head}: ")
    layer, number = map(int, re.findall(r"\d+", head))
    of_head = demo.read("stats")[:, layer, number, names.index(declared)]
    assert int(re.search(r": \s*(\d+)", answer)[1]) == int(np.nanargmax(of_head))


def test_one_head_on_two_kinds_of_texts(answered, demo):
    answer = answered["with_quotations"].answer.replace("\u00a0", " ")
    names = list(demo.array("stats").attrs["stats"])
    values = demo.read("stats")[:, 2, 9, names.index("same_token_beyond")].astype(np.float64)
    texts = demo.table("examples")["text"].to_pylist()
    quoted = np.array([any(mark in text for mark in '“”"«»') for text in texts])
    difference = values[quoted].mean() - values[~quoted].mean()
    said, low, high = map(float, re.match(r"([\d.]+) \[([\d.]+), ([\d.]+)\] higher on texts with", answer).groups())
    assert abs(said - difference) < 1e-3 and low < said < high


def test_heads_with_the_same_job(answered, demo):
    related = demo.table("related").to_pylist()
    nearest = min((row for row in related if (row["layer"], row["head"]) == (1, 8)), key=lambda row: row["distance"])
    assert head_in(answered["same_job"].answer) == named((nearest["other_layer"], nearest["other_head"]))


def test_a_pattern_in_one_plain_sentence(answered):
    assert answered["pattern_in_a_sentence"].answer.startswith("Each token attends to the same token elsewhere")


def test_heads_that_link_a_repeated_name(answered):
    attention = ha.models.attention("packaged", NAMES)
    first, second = [at for at, token in enumerate(attention.tokens) if token == "mary"]
    weights = np.array([[attention.map(layer, head) for head in range(12)] for layer in range(6)])
    links = np.maximum(weights[:, :, first, second], weights[:, :, second, first])
    assert head_in(answered["repeated_name"].answer) == largest(links)


def test_two_heads_side_by_side(answered):
    assert re.findall(r"L\d+·H\d+", answered["side_by_side"].answer) == ["L0·H2", "L2·H9"]


def test_a_figure_for_a_paper(answered):
    name, _, content = answered["figure_for_a_paper"].answer.partition("\n")
    drawing = ElementTree.fromstring(content)
    texts = ["".join(element.itertext()) for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert name.endswith(".svg") and any("L0·H2" in text for text in texts)


def test_a_shared_link(answered, live):
    assert answered["shared_link"].answer.startswith(live) and "sort=" in answered["shared_link"].answer
