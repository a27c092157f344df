"""Head t-SNE on the page by tokens or words, with or without special tokens: what is sent, and what a browser draws."""

from __future__ import annotations

import threading
from functools import cache

import numpy as np
import pytest
import torch
from test_web_walk import settled
from transformers import AutoModel

import headatlas as ha
from headatlas import models, tsne
from headatlas.atlas.tokens import read_tokens
from headatlas.models.batch import text_batch
from headatlas.stages.tsne.heads import head_points
from headatlas.stages.tsne.reading import Reading
from headatlas.web.compute.live import Job, Live
from support import served
from support.browser import until
from support.pages import looking

WAYS = {
    "tsne": (True, "token"), "tsne-words": (True, "word"),
    "tsne-plain": (False, "token"), "tsne-plain-words": (False, "word"),
}  # fmt: skip
TEXT = "Morwenna dismantled the xylophonists' counterfeit lighthouses."  # words of several pieces


@pytest.fixture(scope="module")
def client():
    with served.client(served.real()) as talking:
        yield talking


@cache
def eager(source):
    """An untouched copy of the packaged model that attends eagerly."""
    return AutoModel.from_pretrained(source, attn_implementation="eager", dtype=torch.float32).eval()


def test_maximum_attention_is_that_of_the_models_own_maps(client):
    model = models.load("packaged")
    ids = model.tokenizer(served.TEXTS[0], return_tensors="pt")
    with torch.inference_mode():
        maps = eager(model.source)(**ids, output_attentions=True).attentions
    answer = client.get("/api/examples/0/tsne.json").json()
    points = ids["input_ids"].shape[1]
    for layer in range(6):
        got = client.get("/" + answer["maximum"].replace("LAYER", str(layer)))
        sent, whose = served.attention(got)[: 12 * points], served.words(got)[12 * points :]
        assert len(whose) == 12 * points
        for head in range(12):
            for key in range(points):
                column = [float(maps[layer][0, head, query, key]) for query in range(points)]
                cell = head * points + key
                assert sent[cell] == pytest.approx(max(column), abs=1e-4)
                assert column[whose[cell]] == pytest.approx(max(column), abs=1e-5)


@pytest.mark.parametrize("name", WAYS)
def test_layouts_are_those_of_the_library(client, name):
    read = client.post("/api/try.json", json={"text": TEXT}).json()
    answer = client.get("/" + read["tsne"].replace("tsne.json", f"{name}.json")).json()
    special, unit = WAYS[name]
    assert (answer["special"], answer["unit"]) == (special, unit)
    found = tsne.heads("packaged", TEXT, heads=[(0, 2), (3, 10)], restarts=8, special=special, unit=unit)
    for (layer, head), kl in found.kl.items():
        np.testing.assert_allclose(answer["heads"][12 * layer + head]["kl"], kl, rtol=1e-6)
    points = len(found.points[0].text)
    tokens = len(read["tokens"])
    assert points < tokens - 2 if unit == "word" else points == tokens - (0 if special else 2)
    assert served.words(client.get("/" + answer["positions"])).size == 2 * 72 * points
    assert served.words(client.get("/" + answer["states"])).size == 2 * 6 * points


def test_words_and_plain_maxima_by_slow_loops(client):
    """Words are made, then special tokens dropped, then the largest taken; hidden states of a word are its mean."""
    from headatlas.web.compute import tsne as page

    reading = tsne.reading.read("packaged", TEXT)
    side = reading.side("encoder", True)
    groups: list[list[int]] = []
    for number, word in enumerate(side.word):
        if groups and word >= 0 and side.word[groups[-1][0]] == word:
            groups[-1].append(number)
        else:
            groups.append([number])
    groups = [one for one in groups if not side.special[one[0]]]
    assert max(map(len, groups)) > 2
    whole = reading.maps[3][7]
    words = [[np.mean([sum(whole[i, j] for j in keys) for i in queries]) for keys in groups] for queries in groups]
    how = page.WAYS["tsne-plain-words"]
    units = page.maps_of(reading, reading.model.layers[3], how)
    np.testing.assert_allclose(units.maps[7], words, atol=1e-6)
    states = page.states_of(reading, reading.model.layers[3], how)
    slow = [reading.hidden[3][one].mean(0) for one in groups]
    np.testing.assert_allclose(states, slow, atol=1e-5)
    key = client.post("/api/try.json", json={"text": TEXT}).json()["tsne"]
    got = client.get("/" + key.replace("tsne.json", "tsne-plain-words/maximum/3.bin"))
    size = len(groups)
    np.testing.assert_allclose(
        served.attention(got)[7 * size : 8 * size], np.array(words, np.float64).max(0), atol=1e-4
    )


def test_texts_of_which_nothing_is_left(client):
    """Without its special tokens an empty-looking text has no point, and one word is a point alone."""
    for text in ("a", "[SEP]"):
        read = client.post("/api/try.json", json={"text": text}).json()
        answer = client.get("/" + read["tsne"].replace("tsne.json", "tsne-plain.json")).json()
        assert len(answer["heads"]) == 72
        assert client.get("/" + answer["positions"]).status_code == 200


def test_progress_is_told_and_begins_nothing(client):
    assert client.get("/api/examples/1/tsne-words/progress.json").json() == {"done": 0, "total": 0}
    assert client.get(f"/api/try/{'0' * 32}/tsne/progress.json").json() == {"done": 0, "total": 0}
    served.error(client.get("/api/examples/1/other/progress.json"), 422)


def test_progress_counts_heads_and_layers(monkeypatch):
    from headatlas.web.compute import tsne as page
    from headatlas.web.views.site import Site

    begun, go_on = threading.Event(), threading.Event()

    def slow(vectors, layer, how, states=page._states):
        begun.set()
        assert go_on.wait(30)
        return states(vectors, layer, how)

    monkeypatch.setattr(page, "_states", slow)  # all heads are done when the first layer begins
    live = Live()
    view = Site(served.real(), live).view()
    job = live.laid(view, 1, "tsne")
    try:
        assert isinstance(job, Job) and begun.wait(60)
        assert live.laying(view, 1, "tsne") == (72, 78)
        assert live.laying(view, 1, "tsne-words") == (0, 0)
        go_on.set()
        job.future.result(30)
        assert (job.done, job.total) == (78, 78)
    finally:
        go_on.set()
        live.close()


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A small untrained decoder that reads pieces of bytes, on single texts and on pairs."""
    from conftest import byte_tokenizer
    from support.families import FAMILIES

    home = tmp_path_factory.mktemp("decoder")
    FAMILIES["Llama"].network().save_pretrained(home / "llama")
    byte_tokenizer().save_pretrained(home / "llama")
    texts = [
        ha.data.Example("0", text="The keeper of the lighthouse wrote it down."),
        ha.data.Example("1", text="Who", pair="Someone unforgettable."),  # both texts have a word 0, side by side
    ]
    return ha.collect.maps(str(home / "llama"), texts, home / "decoder.atlas", resolution=8)


def drawn(page):
    """What the browser takes for points: of the text, and of the layout."""
    units = page.evaluate("[...document.querySelectorAll('[data-unit]')].map(one => one.textContent)")
    circles = page.evaluate(
        "document.querySelectorAll('.points')[0].querySelectorAll('circle:not(.ring)').length"
    )  # fmt: skip
    return units, circles


def letters(texts):
    """Without blanks, and without the sign of a piece."""
    return ["".join(one.removeprefix("##").split()) for one in texts]


@pytest.mark.parametrize("kind", ["packaged", "decoder", "pairs"])
def test_points_of_the_page_are_those_of_the_server(browser, kind, request):
    """The same units, in the same order, as the library lays out: texts of tokens or words, with or without special."""
    atlas = served.real() if kind == "packaged" else request.getfixturevalue(kind)
    model = models.load("packaged" if kind == "packaged" else atlas.header["model"]["source"])
    number = {"packaged": 0, "decoder": 1, "pairs": 5}[kind]
    encoded = read_tokens(atlas, [number])
    reading = Reading(model, text_batch(model, encoded), encoded[0])
    layers = {layer.kind: layer for layer in model.layers}.values()
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            for name, (special, unit) in WAYS.items():
                asked = f"special={int(special)}&words={int(unit == 'word')}"
                for layer in layers:
                    page.goto(f"{shown.url}#/tsne/{number}?head={layer.index}.0&{asked}")
                    settled(page)
                    wanted = head_points(reading, layer, special, unit).text
                    until(
                        page, f"document.querySelectorAll('[data-unit]').length === {len(wanted)} && "
                        f"document.querySelectorAll('.points circle').length >= {len(wanted)}", 60,
                    )  # fmt: skip
                    units, circles = drawn(page)
                    assert letters(units) == letters(wanted), name
                    assert circles == len(wanted), name
    finally:
        shown.close()
