"""Names of the nodes of a tree: statistics of nodes equal those of clusters, and names cover what they stand for."""

import numpy as np
import pytest

from headatlas import cluster, correlate, wording
from headatlas.atlas.groups import read_groups
from headatlas.atlas.trees import shown_nodes, tree_text
from headatlas.numeric.hierarchy import children, levels
from headatlas.stages.correlate import contrasts, home
from headatlas.stages.correlate.counts import read
from headatlas.stages.correlate.matched import Ranked, contrast
from headatlas.stages.correlate.outline import Outline, read_outline
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
    maps = read(atlas, "tree", read_groups(atlas, None).number)
    return read_outline(atlas, "tree", maps, home.by_size(maps))


def tree(atlas):
    """Rows of the nodes, the parent of each, and at how many clusters each is one."""
    rows = atlas.table("nodes", "tree").to_pylist()
    parent = [-1 if row["parent"] is None else row["parent"] for row in rows]
    cut = [node for node, row in enumerate(rows) if row["cut"]]
    return rows, parent, levels(parent, [row["height"] for row in rows], cut)


def maps_of(atlas, node):
    """Which maps a node has."""
    row, leaves = atlas.table("nodes", "tree").to_pylist()[node], atlas.read("leaves", of="tree")
    return (leaves >= row["first_leaf"]) & (leaves <= row["last_leaf"])


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
    evidence = contrasts.compared(atlas, maps, outline, 0, 5).nodes
    nodes, leaves = atlas.table("nodes", "tree").to_pylist(), atlas.read("leaves", of="tree")
    values, exists = atlas.read("stats"), leaves >= 0
    for node, items in evidence.items():
        inside = (leaves >= nodes[node]["first_leaf"]) & (leaves <= nodes[node]["last_leaf"])
        codes = np.where(exists, inside, -1).reshape(len(inside), -1)
        for item in items:
            if item.statistic in STATS:
                of_maps = np.where(exists, values[..., STATS.index(item.statistic)], np.nan).reshape(codes.shape)
                expected = contrast(Ranked.of(of_maps), codes, np.eye(2), None, None)
                assert item.mean == pytest.approx(of_maps[codes == 1].mean(), rel=1e-4)
                if node:
                    assert item.delta == pytest.approx(expected.delta[1], abs=1e-9)
                    assert item.rest == pytest.approx(expected.rest[1], rel=1e-6)
                else:
                    assert np.isnan(item.delta)


def test_all_nodes_of_cuts_into_up_to_60_clusters_have_names_and_clusters_keep_theirs(atlas):
    clusters = {row["cluster"]: row for row in atlas.table("clusters", "tree").to_pylist()}
    nodes, _, at = tree(atlas)
    rows = {row["node"]: row for row in atlas.table("node_names", "tree").to_pylist()}
    assert rows.keys() == at.keys() and len(rows) == 2 * 60 - 1
    named = [node for node in rows if nodes[node]["cluster"] is not None]
    assert len(named) == len(clusters) == 5
    for node in named:
        expected = clusters[nodes[node]["cluster"]]
        assert all(rows[node][column] == expected[column] for column in rows[node] if column != "node")


def test_nodes_of_one_cut_have_different_names(atlas):
    _, _, at = tree(atlas)
    names = {row["node"]: row["name"] for row in atlas.table("node_names", "tree").to_pylist()}
    for k in range(2, 61):
        cut = [node for node, (least, most) in at.items() if least <= k <= most]
        assert len(cut) == k and len({names[node] for node in cut}) == k
    numbered = [name for name in names.values() if name.rpartition(" ")[2].isdecimal()]
    assert all(", layer " in name or " example" in name for name in numbered)  # never by a number alone


def holding(atlas, reason, inside):
    """The share of some maps for which a phrase holds; None if its statistic is not stored."""
    declared = statistic(reason["statistic"])
    if reason["statistic"] not in STATS:
        return None
    values = atlas.read("stats")[..., STATS.index(reason["statistic"])][inside]
    if declared.low is None:
        return (values >= 0.1).mean()
    return (values >= declared.high.bound if reason["delta"] > 0 else values <= declared.low.bound).mean()


def test_a_phrase_of_a_node_holds_for_most_maps_of_its_large_parts(atlas):
    nodes, parent, at = tree(atlas)
    parts, checked = children(parent), 0
    for row in atlas.table("node_names", "tree").to_pylist():
        below = [part for part in parts.get(row["node"], []) if part in at]
        below = [part for part in below if nodes[part]["maps"] >= nodes[row["node"]]["maps"] / 3]
        for reason in row["reasons"] if row["named"] else []:
            shares = [holding(atlas, reason, maps_of(atlas, node)) for node in [row["node"], *below]]
            assert all(share is None or share >= 0.5 for share in shares)
            checked += bool(below)
    assert checked


def test_the_tree_as_text(atlas):
    rows = {row["node"]: row for row in atlas.table("node_names", "tree").to_pylist()}
    lines = tree_text(atlas, "tree").splitlines()
    shown = shown_nodes(atlas.table("nodes", "tree"))
    shown = [(node, depth) for node, depth in shown if node in rows]
    assert lines[0] == "all maps: 100%"
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


def test_a_small_part_may_differ():
    """A node is named after what holds for most of its maps, even if a part with less than a third of them differs."""

    def named(small):
        ranked = Ranked.of(np.array([[0.8] * 60 + [0.0] * small + [0.0] * 100]))
        codes = np.repeat([0, 1, 2], [60, small, 100])[None]
        members = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        levels = dict.fromkeys(range(4), (2, 3))
        small_outline = Outline({0: -1, 1: 0, 2: 0, 3: -1}, levels, {}, members, codes)
        compared = contrast(ranked, codes, members, None, None)
        return small_outline.evidence("self", ranked, codes, compared)[0].fits

    assert named(20) and not named(40)
