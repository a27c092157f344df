"""Names of the nodes of a tree: statistics of nodes equal those of clusters, and names cover what they stand for."""

import numpy as np
import pytest

from headatlas import cluster, correlate, wording
from headatlas.atlas.trees import shown_nodes, tree_text
from headatlas.numeric.hierarchy import children
from headatlas.stages.correlate import contrasts, node_names
from headatlas.stages.correlate.counts import read
from headatlas.stages.correlate.effect import cliffs_delta
from headatlas.stages.correlate.groups import read_groups
from headatlas.statistics import statistic
from support.planted import STATS, drawn, planted


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    patterns = drawn(np.random.default_rng(5).dirichlet([0.15] * 5, (4, 6)), 60)
    atlas = planted(tmp_path_factory.mktemp("nodes") / "x.atlas", patterns, missing=[(1, 2)])
    cluster.tree(atlas)
    correlate.clusters(atlas, permutations=9)
    return atlas


@pytest.fixture(scope="module")
def outline(atlas):
    return node_names.read_outline(atlas, "tree", read(atlas, "tree", read_groups(atlas, None).number))


def test_the_outline_ends_one_level_below_the_default_cut(atlas):
    nodes = atlas.table("nodes", "tree").to_pylist()
    parts = children([-1 if row["parent"] is None else row["parent"] for row in nodes])
    expected, pending = {0}, [0]
    while pending:
        node = pending.pop()
        expected |= {*parts.get(node, [])}
        pending += [] if nodes[node]["cut"] else parts[node]
    shown = dict(shown_nodes(atlas.table("nodes", "tree")))
    assert {*shown} == expected and len(expected) > 9
    assert all(shown[node] == shown[nodes[node]["parent"]] + 1 for node in shown if node)


def test_statistics_of_every_node_equal_those_of_a_cluster_of_its_maps(atlas, outline):
    maps = read(atlas, "tree", read_groups(atlas, None).number)
    sums = contrasts.compared(atlas, maps, 0, 5, outline).parts
    evidence = outline.evidence(sums)
    nodes, leaves = atlas.table("nodes", "tree").to_pylist(), atlas.read("leaves", of="tree")
    values, exists = atlas.read("stats"), leaves >= 0
    for node, items in evidence.items():
        inside = ((leaves >= nodes[node]["first_leaf"]) & (leaves <= nodes[node]["last_leaf"]))[exists]
        for item in items:
            if item.statistic in STATS:
                of_maps = values[..., STATS.index(item.statistic)][exists]
                expected = cliffs_delta(of_maps, inside.astype(np.int16), np.zeros(len(of_maps)), 2)
                assert item.mean == pytest.approx(of_maps[inside].mean(), rel=1e-4)
                if node:
                    assert item.delta == pytest.approx(expected.delta[1], abs=1e-9)
                    assert item.rest == pytest.approx(of_maps[~inside].mean(), rel=1e-4)
                else:
                    assert np.isnan(item.delta)


def test_clusters_keep_their_names_and_siblings_never_differ_by_a_number_alone(atlas):
    clusters = {row["cluster"]: row for row in atlas.table("clusters", "tree").to_pylist()}
    nodes = atlas.table("nodes", "tree").to_pylist()
    rows = {row["node"]: row for row in atlas.table("node_names", "tree").to_pylist()}
    named = [node for node in rows if nodes[node]["cluster"] is not None]
    assert len(named) == len(clusters) == 5
    for node in named:
        expected = clusters[nodes[node]["cluster"]]
        assert all(rows[node][column] == expected[column] for column in ("phrases", "ordinal", "reasons", "named"))
    compared = 0
    for node, row in rows.items():
        siblings = [other for other in rows if other != node and nodes[other]["parent"] == nodes[node]["parent"]]
        for other in siblings if node else []:
            assert rows[other]["name"] != row["name"]
            if {*rows[other]["phrases"]} == {*row["phrases"]}:
                assert row["comparison"]["higher"] != rows[other]["comparison"]["higher"]
                assert statistic(row["comparison"]["statistic"]).label in row["name"]
                compared += 1
    assert compared  # a planted pattern has no parts of its own: they can only be compared


def test_a_phrase_of_a_node_holds_for_most_of_its_maps(atlas, outline):
    nodes, leaves = atlas.table("nodes", "tree").to_pylist(), atlas.read("leaves", of="tree")
    values, checked = atlas.read("stats"), 0
    for row in atlas.table("node_names", "tree").to_pylist():
        node = nodes[row["node"]]
        inside = (leaves >= node["first_leaf"]) & (leaves <= node["last_leaf"])
        for reason in row["reasons"] if row["named"] and node["cluster"] is None else []:
            declared = statistic(reason["statistic"])
            if reason["statistic"] in STATS and declared.low is None:
                of_maps = values[..., STATS.index(reason["statistic"])][inside]
                assert (of_maps >= 0.1).mean() >= 0.5
                checked += 1
    assert checked


def test_the_tree_as_text(atlas):
    rows = {row["node"]: row for row in atlas.table("node_names", "tree").to_pylist()}
    lines = tree_text(atlas, "tree").splitlines()
    shown = shown_nodes(atlas.table("nodes", "tree"))
    assert lines[0] == "all maps: 100%" and len(lines) == len(shown) == len(rows)
    for line, (node, depth) in zip(lines, shown, strict=True):
        assert line.startswith("  " * depth) and f"{rows[node]['name']}: " in line
    assert all(line in correlate.summary(atlas) for line in lines)
    clusters = [row for row in atlas.table("nodes", "tree").to_pylist() if row["cut"]]
    marks = [f"[{row['cluster']}] " for row in clusters]
    assert all(sum(mark in line for line in lines) == 1 for mark in marks)
    assert wording.node_name(3, 1, None) == "cluster 1"


def test_other_methods_have_no_names_of_nodes(atlas):
    cluster.kmeans(atlas, k=5)
    correlate.clusters(atlas, permutations=9)
    assert not atlas.has_table("node_names", "kmeans") and "The tree" not in correlate.summary(atlas)
