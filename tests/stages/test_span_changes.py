"""Attention between spans against columns: shares and tests by slow loops, planted effects, what is said of them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import headatlas as ha
from headatlas.atlas.span_findings import read_span_findings
from headatlas.data import Example, Span
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.span_changes import measured, planner, span_changes

NAMES = ["span:a>a", "span:a>b"]
ROWS, HEADS = 60, 3


def column(name, codes, values=("no", "yes")):
    return Column(name, np.array(codes), values)


@pytest.fixture(scope="module")
def planted():
    """Attention from a to b depends on `kind` in head 1; every third text has no b. `other` is random."""
    rng = np.random.default_rng(0)
    kind, other = rng.integers(0, 2, ROWS), rng.integers(0, 2, ROWS)
    values = rng.normal(0.3, 0.02, (2, ROWS, HEADS)).astype(np.float32)
    values[1, :, 1] += 0.04 * kind
    values[1, ::3] = np.nan
    columns = [column("kind", kind), column("other", other), column("without", np.arange(ROWS) % 3 > 0)]
    maps = SimpleNamespace(layer=np.zeros(HEADS, int), head=np.arange(HEADS))
    plan = planner(np.arange(ROWS), np.arange(ROWS), 199, 0, 50)
    rows = span_changes(values, NAMES, maps, columns, plan, lambda count: None).to_pylist()
    return values, columns, plan, {(row["head"], row["statistic"], row["column"]): row for row in rows}


def test_there_is_a_row_for_each_head_statistic_and_column(planted):
    values, _, _, rows = planted
    assert len(rows) == HEADS * 2 * 3
    assert [len(part.rows) for part in measured(values)] == [ROWS, ROWS * 2 // 3]
    assert {row["n"] for key, row in rows.items() if key[1] == "span:a>b"} == {40}


def test_shares_and_tests_equal_slow_loops(planted):
    values, columns, plan, rows = planted
    for (head, name, label), row in rows.items():
        of = values[NAMES.index(name), :, head].astype(float)
        codes = next(column.codes for column in columns if column.name == label)
        known = np.flatnonzero(np.isfinite(of))
        groups = [of[[i for i in known if codes[i] == code]] for code in (0, 1)]
        means = [np.nan if item["mean"] is None else item["mean"] for item in row["means"]]
        np.testing.assert_allclose(means, [group.mean() if len(group) else np.nan for group in groups], rtol=1e-6)
        assert [item["n"] for item in row["means"]] == [len(group) for group in groups]
        if min(map(len, groups)) == 0:
            assert row["untested"] == "one value" and row["p"] is None
            continue
        mean = of[known].mean()
        between = sum(len(group) * (group.mean() - mean) ** 2 for group in groups)
        assert row["eta2"] == pytest.approx(between / ((of[known] - mean) ** 2).sum(), rel=1e-6)
        number = [column.name for column in columns].index(label)
        design = plan(known, columns[number], number)
        reached = 0
        for shuffled in design.shuffled:
            parts = [of[known][shuffled == code] for code in (0, 1)]
            reached += sum(len(part) * (part.mean() - mean) ** 2 for part in parts) >= between - 1e-9
        exact = (1 + reached) / (1 + len(design.shuffled))
        assert row["p"] == pytest.approx(exact) if reached else row["p"] <= exact
        assert abs(math.log(row["p"]) - math.log(stats.f_oneway(*groups).pvalue)) < max(0.5, -0.3 * math.log(row["p"]))


def test_intervals_are_those_of_drawn_texts(planted):
    values, columns, plan, rows = planted
    row = rows[1, "span:a>b", "kind"]
    known = np.flatnonzero(np.isfinite(values[1, :, 1]))
    of = values[1, known, 1].astype(float)
    design = plan(known, columns[0], 0)
    chance = 1 / (len(known) - 1)
    drawn = []
    for weights in design.weights:
        x, codes = np.repeat(of, weights.astype(int)), np.repeat(design.codes, weights.astype(int))
        groups = [x[codes == code] for code in (0, 1)]
        eta2 = sum(len(group) * (group.mean() - x.mean()) ** 2 for group in groups) / ((x - x.mean()) ** 2).sum()
        drawn.append(1 - (1 - eta2) / (1 - chance) ** 2)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), rel=1e-5)


def test_what_was_planted_is_found_and_nothing_else(planted):
    *_, rows = planted
    ranked = [key for key, row in rows.items() if row["rank"] is not None]
    assert ranked == [(1, "span:a>b", "kind")]
    row = rows[ranked[0]]
    assert row["q"] < 0.001 and 0.3 < row["low"] < row["explained"] < row["high"] < 0.8


# in an atlas


@pytest.fixture(scope="module")
def atlas(packaged_model):
    """In half of the texts, marked `long`, the second span is most of the text: more attention goes to it."""
    words = ["tide", "stone", "crab", "bell", "ship", "light", "storm", "keeper", "church", "rope"]
    rng = np.random.default_rng(1)
    examples = []
    for number in range(40):
        long = bool(number % 2)
        first, second = (" ".join(rng.choice(words, size)) for size in (4, 12 if long else 2))
        text = f"{first} , {second}"
        spans = (Span("first", 0, len(first)), Span("second", len(first) + 3, len(text)))
        examples.append(Example(str(number), text, spans=spans, columns={"long": "yes" if long else "no"}))
    atlas = ha.collect.maps(packaged_model, examples, "memory://span_changes.atlas", resolution=8, qk_tokens=0)
    ha.features.image(atlas)
    ha.cluster.kmeans(atlas, k=4)
    ha.correlate.clusters(atlas, columns=["long"], permutations=99)
    return atlas


def test_correlate_says_in_which_heads_attention_between_spans_changes(atlas):
    table = atlas.table("span_changes").to_pandas()
    assert len(table) == 72 * 4 and table["rank"].notna().sum() > 30
    best = table[table.statistic == "span:first>second"].iloc[0]
    assert {item["value"]: item["mean"] for item in best["means"]}["yes"] > 0.2
    finding = read_span_findings(atlas, "kmeans")[0]
    assert finding.column == "long" and finding.heads[0]["explained"] >= finding.heads[-1]["explained"]
    summary = ha.correlate.summary(atlas)
    assert "Attention between spans" in summary
    assert "changes with long in" in summary and "if long = yes" in summary


def test_evidence_has_every_statistic_between_spans(atlas):
    evidence = atlas.table("evidence").to_pandas()
    spans = evidence[evidence.statistic.str.startswith("span:")]
    assert len(spans) == 4 * evidence.cluster.nunique() and spans.delta.notna().any()
