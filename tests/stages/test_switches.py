"""Heads that switch to a pattern for a value of a column: planted switches are told, and nothing else."""

import numpy as np
import pytest

from headatlas import correlate
from headatlas.atlas.findings import grouped, read_findings
from headatlas.stages.correlate.counts import coded
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.switches import LEAST, switches
from support.planted import clustered, planted

EXAMPLES = 60


def column(values, name="kind"):
    distinct = sorted(set(values))
    return Column(name, np.array([distinct.index(value) for value in values]), tuple(distinct))


def every(maps, columns):
    """All heads change with all columns."""
    return {(slot, number) for slot in range(len(maps.layer)) for number in range(len(columns))}


def switching(seed=0, strength=0.9):
    """Two heads that show pattern 1 on texts of kind `b` and 0 otherwise, and two that ignore the kind."""
    rng = np.random.default_rng(seed)
    kind = np.array(["a"] * 40 + ["b"] * 20)
    rng.shuffle(kind)
    labels = rng.integers(0, 3, (EXAMPLES, 2, 2))
    for layer, head in ((0, 1), (1, 0)):
        follows = rng.random(EXAMPLES) < strength
        labels[:, layer, head] = np.where(follows, kind == "b", labels[:, layer, head])
    return labels, kind


def test_shares_equal_a_slow_count():
    labels, kind = switching()
    maps = coded(labels)
    rows = switches(maps, [column(kind)], every(maps, [0])).to_pylist()
    assert {(row["layer"], row["head"], row["cluster"], row["value"]) for row in rows} == {
        (0, 1, 1, "b"),
        (1, 0, 1, "b"),
    }
    for row in rows:
        own = labels[:, row["layer"], row["head"]] == row["cluster"]
        assert row["share"] == own[kind == "b"].mean() and row["otherwise"] == own[kind == "a"].mean()
        assert row["share"] - row["otherwise"] >= 0.5 and row["n"] == 20 and row["q"] < 1e-4


def test_only_heads_that_change_count():
    labels, kind = switching()
    maps = coded(labels)
    assert switches(maps, [column(kind)], {(0, 0), (1, 0)}).to_pylist()[0]["head"] == 1
    assert switches(maps, [column(kind)], set()).num_rows == 0


@pytest.mark.parametrize("seed", range(5))
def test_without_an_effect_nothing_switches_however_many_values(seed):
    rng = np.random.default_rng(seed)
    maps = coded(rng.integers(0, 3, (EXAMPLES, 4, 4)))
    columns = [column(rng.integers(0, count, EXAMPLES).astype(str)) for count in (2, 4, 10)]
    assert switches(maps, columns, every(maps, columns)).num_rows == 0


def test_rare_values_and_grouped_texts_are_not_enough():
    labels, kind = switching(strength=1.0)
    few = np.where(np.cumsum(kind == "b") < LEAST, kind, "a")  # the value is left on too few texts
    maps = coded(labels)
    assert switches(maps, [column(few)], every(maps, [0])).num_rows == 0
    group = np.where(kind == "b", 0, 1 + np.arange(EXAMPLES) % 30)  # all texts with the value have one source
    maps = coded(labels, group)
    assert switches(maps, [column(kind)], every(maps, [0])).num_rows == 0


def test_missing_values_and_heads_are_left_out():
    labels, kind = switching(strength=1.0)
    labels[:, 1, 1] = -2
    codes = np.where(np.arange(EXAMPLES) < 10, -1, kind == "b")
    maps = coded(labels)
    rows = switches(maps, [Column("kind", codes, ("a", "b"))], every(maps, [0])).to_pylist()
    assert {row["n"] for row in rows} == {int((kind[10:] == "b").sum())} and len(rows) == 2


def test_a_head_is_mentioned_once_and_larger_groups_first():
    def row(head, cluster, value, n):
        numbers = {"share": 0.8 + head / 50, "otherwise": 0.1, "n": n, "q": 0.001}
        return {"layer": 0, "head": head, "cluster": cluster, "value": value} | numbers

    rows = [row(0, 1, "b", 20), row(1, 1, "b", 20), row(1, 2, "b", 20), row(2, 3, "c", 10), row(3, 4, "b", 20)]
    far, broad = grouped(rows, {1: "far", 2: "near", 3: "broad", 4: "sharp"})
    assert (far.pattern, far.value, [head["head"] for head in far.heads]) == ("far", "b", [0, 1])
    assert far.mean["share"] == pytest.approx(0.81) and far.mean["low"] is None  # an earlier version had no interval
    assert (broad.pattern, broad.value, [head["head"] for head in broad.heads]) == ("broad", "c", [2])
    assert grouped([], {}) == []


def test_the_interval_of_a_switch_is_a_bootstrap_over_texts():
    labels, kind = switching(strength=0.8)
    group = np.arange(EXAMPLES) // 2 if (kind[::2] == kind[1::2]).all() else np.arange(EXAMPLES)
    maps = coded(labels, group)
    draws = Draws(len(np.unique(group)), 200, 5)
    rows = switches(maps, [column(kind)], every(maps, [0]), draws).to_pylist()
    assert rows
    for row in rows:
        own, has = labels[:, row["layer"], row["head"]] == row["cluster"], kind == row["value"]
        slow = []
        for weights in draws:
            times = weights[group]
            slow.append(np.average(own[has], weights=times[has]) - np.average(own[~has], weights=times[~has]))
        assert [row["low"], row["high"]] == pytest.approx(np.percentile(slow, [2.5, 97.5]).tolist())
        assert row["low"] < row["share"] - row["otherwise"] < row["high"]


def test_the_summary_leads_with_a_switch(tmp_path):
    labels, kind = switching(strength=1.0)
    columns = {"kind": kind, "name": [f"text {n}" for n in range(EXAMPLES)], "same": ["x"] * EXAMPLES}
    atlas = planted(tmp_path / "s.atlas", labels, columns=columns)
    clustered(atlas, labels)
    correlate.clusters(atlas, permutations=199)
    names = dict(zip(*(atlas.table("clusters")[name].to_pylist() for name in ("cluster", "name")), strict=True))
    line = (
        f"2 heads switch to “{names[1]}” if kind = b: L0·H1 and L1·H0; 100% of their maps against 0%, difference 1.00"
    )
    text = " ".join(correlate.summary(atlas).split())
    assert line in text and "change with kind" not in text  # no other head does
    (result,) = read_findings(atlas, "kmeans").columns
    assert [(group.value, group.examples, len(group.heads)) for group in result.switches] == [("b", 20, 2)]
    assert result.changed == [] and result.explained[0, 1] > 0.9 > 0.1 > result.explained[0, 0]
    assert set(atlas.table("switches")["column"].to_pylist()) == {"kind"}  # ids and constants are left out
