"""Every declared statistic is complete: computed, exact, named, documented, and known to the page."""

import json
import math
import re

import numpy as np
import pytest

from conftest import ROOT
from headatlas.optional_statistics import SPAN, between_spans
from headatlas.sources import Relation
from headatlas.stages.collect import layout
from headatlas.stages.correlate.contrasts import statistic_sources
from headatlas.statistics import (
    COMBINED,
    SINKS,
    SPECIAL,
    STATISTICS,
    collected,
    special,
    statistic,
    usual,
)
from headatlas.web.api.typescript import statistics_ts
from support import reference, small_maps
from support.docs import assert_table

TEMPLATES = (SPECIAL, SPAN)  # of which there is one for each special token, or two kinds of spans
ONLY = {"": "", "spans": "; data with spans", "norms": "; with `--norms`"}  # what must be there for a statistic
DECLARED = {entry.name: entry for entry in STATISTICS}
MAPS = {
    "encoder": (7, 7, False), "causal": (7, 7, True), "long": (45, 45, False), "long causal": (45, 45, True),
    "cross": (5, 7, False), "one token": (1, 1, False),
}  # fmt: skip


def text_map(kind, seed=0):
    """Statistics of a map by name, from the kernel and from slow loops."""
    n, m, causal = MAPS[kind]
    rng = np.random.default_rng(seed)
    queries = small_maps.tokens(rng, n)
    keys = small_maps.tokens(rng, m) if kind == "cross" else queries
    scores = rng.standard_normal((1, n, m)).astype(np.float32)
    fast = small_maps.text_statistics(scores, queries, keys, causal=causal)[2][0]
    exact = small_maps.softmax(scores, causal)[0]
    slow = reference.text(exact, queries, keys, small_maps.SPECIALS, small_maps.SEPARATOR, causal=causal)
    return dict(zip(small_maps.text_axis().names, fast, strict=True)), slow


@pytest.mark.parametrize("kind", MAPS)
def test_every_statistic_of_a_text_is_exact(kind):
    for seed in range(2 if kind.startswith("long") else 20):
        fast, slow = text_map(kind, seed)
        assert fast.keys() == slow.keys(), "every statistic has a slow computation in support/reference.py"
        for name, value in fast.items():
            assert value == pytest.approx(slow[name], rel=1e-5, abs=1e-5, nan_ok=True), (name, seed)
            assert not (kind == "cross" and statistic(name).square_only) or math.isnan(value), name


def test_every_statistic_of_an_image_is_exact():
    grid = small_maps.grid()
    n = len(grid.special) + grid.rows * grid.columns
    scores = np.random.default_rng(0).standard_normal((1, n, n)).astype(np.float32)
    fast = small_maps.image_statistics(scores, grid)[2][0]
    slow = reference.image(small_maps.softmax(scores)[0], grid.special, grid.rows, grid.columns)
    names = small_maps.image_axis(grid).names
    assert {*names} == {*slow}
    for name, value in zip(names, fast, strict=True):
        assert value == pytest.approx(slow[name], rel=1e-5, abs=1e-5), name


def test_combined_statistics_are_sums_and_differences_of_collected_ones():
    fast, slow = text_map("encoder")
    sources = statistic_sources([*fast])
    values = np.array([*fast.values()])
    windows = {"just_before": (-4, -1), "just_after": (1, 4), "around": (-4, 4)}
    expected = {
        name: sum(slow[offset] for offset, by in reference.OFFSETS.items() if first <= by <= last)
        for name, (first, last) in windows.items()
    }
    assert expected.keys() == COMBINED.keys()
    for name, value in expected.items():
        plus, minus = sources[name]
        assert values[plus].sum() - values[minus].sum() == pytest.approx(value, abs=1e-5), name


@pytest.mark.parametrize("entry", [*STATISTICS, *map(special, SINKS)], ids=lambda entry: entry.name)
def test_a_declaration_is_complete(entry):
    assert all([entry.name, entry.label, entry.definition, entry.short, entry.unit, entry.group, entry.modalities])
    assert "|" not in entry.definition + entry.label + entry.short + entry.unit_text  # they are shown in tables
    for part in COMBINED[entry.name].plus + COMBINED[entry.name].minus if entry.name in COMBINED else ():
        assert part in DECLARED and part not in COMBINED
    for naming in filter(None, (entry.high, entry.low)):
        assert naming.phrase and "," not in naming.phrase  # names are lists of phrases
        assert bool(naming.target) != bool(naming.manner)
        assert bool(naming.manner) == (entry.low is not None)  # how attention is spread has both ends
    assert entry.low is None or entry.high is not None
    if entry not in TEMPLATES:
        assert statistic(entry.name) == entry
    if entry.only:
        assert entry.high is None and entry.low is None  # it names no cluster


def test_statistics_between_spans_come_last_and_are_known_by_name():
    declared = between_spans(["question", "answer"])
    assert [entry.name for entry in declared] == [
        "span:question>question", "span:question>answer", "span:answer>question", "span:answer>answer",
    ]  # fmt: skip
    assert all(statistic(entry.name) == entry for entry in declared)
    assert not any(entry.only for entry in collected("text")) and usual([entry.name for entry in declared]) == 0
    for name in ("span:question", "span:a>b>c"):
        assert statistic(name).label == name


def test_names_are_unique_and_equal_phrases_mean_the_same():
    assert len(DECLARED) == len(STATISTICS)
    meanings = {}
    for entry in [*STATISTICS, *map(special, SINKS)]:
        for naming in filter(None, (entry.high, entry.low)):
            meaning = (entry.group, naming.target, naming.manner)
            assert meanings.setdefault(naming.phrase, meaning) == meaning


def test_a_relation_without_a_function_is_refused():
    names = [entry.name for entry in collected("text") if isinstance(entry.source, Relation)]
    functions = {name: name.upper() for name in reversed(names)}
    assert layout._in_order("text", Relation, functions) == tuple(functions[name] for name in names)
    missing = {name: functions[name] for name in names[1:]}
    for wrong, named in ((missing, names[0]), (functions | {"undeclared": ""}, "undeclared")):
        with pytest.raises(TypeError, match=f"declared and defined Relation statistics differ.*{named}"):
            layout._in_order("text", Relation, wrong)


def test_the_page_has_all_statistics():
    text = statistics_ts()
    written = [json.loads(line.rstrip(",")) for line in re.findall(r"^  (\{.*\},)$", text, re.M)]
    by_name = {entry["name"]: entry for entry in written}
    templates = {entry.name for entry in TEMPLATES}
    assert by_name.keys() == DECLARED.keys() - templates | {special(token).name for token in SINKS}
    for name, entry in by_name.items():
        declared = statistic(name)
        assert (entry["label"], entry["unit"], entry["group"]) == (declared.label, declared.unit, declared.group)
        for end in ("high", "low"):
            naming = getattr(declared, end)
            assert (entry[end] and entry[end]["phrase"]) == (naming and naming.phrase)


# the tables in the docs


def test_the_table_of_statistics_in_the_docs():
    lines = ["| name | in words | definition | unit | models |", "| --- | --- | --- | --- | --- |"]
    for entry in STATISTICS:
        filled = {"token": "TOKEN", "query": "KIND", "key": "KIND"}
        name, label = (text.format(**filled) for text in (entry.name, entry.label))
        models = ", ".join(entry.modalities) + (" (not cross attention)" if entry.square_only else "")
        models += ONLY[entry.only]
        stored = "; not stored, computed by `correlate`" if entry.name in COMBINED else ""
        lines.append(f"| `{name}` | {label} | {entry.definition}{stored} | {entry.unit_text} | {models} |")
    assert_table(ROOT / "docs" / "collect.md", "statistics", lines)


def test_the_table_of_phrases_in_the_docs():
    lines = ["| phrase | a head attends … | statistic | least difference |", "| --- | --- | --- | --- |"]
    rows = {}
    for entry in sorted([*STATISTICS, *map(special, SINKS)], key=lambda entry: entry.rank):
        for end, naming, sign in (("high", entry.high, "≥"), ("low", entry.low, "≤")):
            if naming is None:
                continue
            bound = "" if naming.bound is None else f" (mean {sign} {naming.bound:.2g})".replace("-", "−")
            description = f"to {naming.target}" if naming.target else naming.manner
            key = tuple(text.format(token="TOKEN") for text in (naming.phrase, description, f"{entry.least:g}"))
            name = entry.name.format(token="TOKEN")
            rows.setdefault(key, []).append(f"`{name}` {end}{bound}" if entry.low else f"`{name}`")
    lines += [f"| {key[0]} | {key[1]} | {', '.join(names)} | {key[2]} |" for key, names in rows.items()]
    assert_table(ROOT / "docs" / "correlate.md", "phrases", lines)


COLUMNS = {"encoder": (60, 60, False), "causal": (60, 60, True), "cross": (40, 60, False)}


def column_map(kind, scores):
    """Attention to the same few tokens of one map, from the kernel and from slow loops; all tokens are words."""
    n, m, causal = COLUMNS[kind]
    queries = small_maps.words(n)
    keys = small_maps.words(m) if kind == "cross" else queries
    scores = scores[None].astype(np.float32)
    fast = small_maps.text_statistics(scores, queries, keys, causal=causal)[2][0]
    exact = small_maps.softmax(scores, causal)[0]
    slow = reference.text(exact, queries, keys, small_maps.SPECIALS, small_maps.SEPARATOR, causal=causal)["same_few"]
    value = dict(zip(small_maps.text_axis().names, fast, strict=True))["same_few"]
    assert value == pytest.approx(slow, rel=1e-5, abs=1e-5)
    return float(value)


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_same_few_tokens_are_the_mass_of_columns(kind):
    """Two tokens that all queries attend to have nearly all of their mass, whatever else there is."""
    n, m, _ = COLUMNS[kind]
    noise = np.random.default_rng(0).standard_normal((n, m))
    columns = noise + 4.5 * np.isin(np.arange(m), (9, 21))
    mass = small_maps.softmax(columns[None], COLUMNS[kind][2])[0][:, [9, 21]].sum(1).mean()
    assert 0.5 < mass < 0.8
    assert 0.6 * mass < column_map(kind, columns) < mass
    assert column_map(kind, noise) < 0.01


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("pattern", ["even", "near", "previous", "scattered", "first"])
def test_other_patterns_have_no_columns(kind, pattern):
    """Nor does a map in which each query attends to a token of its own, though some of these meet by chance."""
    n, m, _ = COLUMNS[kind]
    step = np.arange(m) - np.arange(n)[:, None]
    scores = {
        "even": np.zeros((n, m)), "near": -np.abs(step) / 3, "previous": 9.0 * (step == -1),
        "scattered": 9.0 * np.eye(m)[np.random.default_rng(1).integers(0, m, n)],
        "first": np.tile(9.0 * (np.arange(m) == 0), (n, 1)),
    }  # fmt: skip
    assert column_map(kind, scores[pattern]) < 0.005
