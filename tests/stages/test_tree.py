"""A tree of patterns: planted levels are found, stability equals a slow loop, any cut is a lookup, the same bits."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as ari

import headatlas as ha
from headatlas import cluster, correlate
from headatlas.atlas.schema import MISSING
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.numeric.hierarchy import children
from headatlas.stages.cluster import forest, stage
from headatlas.stages.cluster.methods.tree import Tree
from support.atlases import folders, stopping
from support.planted import plant_features, planted

EXAMPLES = 60
GROUPS = np.random.default_rng(3).integers(9, size=(EXAMPLES, 6, 12))  # three groups of three: group // 3, group


def nested(noise):
    """Features (example, layer, head, feature) of maps in three far groups of three near ones; one head is missing."""
    values = np.concatenate([8 * np.eye(3)[GROUPS // 3], 4 * np.eye(3)[GROUPS % 3]], -1)
    values += noise * np.random.default_rng(11).normal(size=values.shape)
    values[:, 2, 3] = np.nan
    return values


def make(path, noise=0.2, examples=EXAMPLES, block=16):
    atlas = planted(path, GROUPS[:examples] % 5, missing=[(2, 3)], block=block)
    plant_features(atlas, "nested", nested(noise)[:examples], block)
    return atlas


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    atlas = make(tmp_path_factory.mktemp("tree") / "x.atlas")
    cluster.tree(atlas)
    return atlas


def bits(atlas, name="tree"):
    files = [path for folder in folders(atlas, "cluster", name) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.read_bytes() for path in files]


# planted levels


def test_small_noise_gives_nine_patterns_and_both_levels_are_nodes(atlas):
    labels = atlas.read("labels", of="tree")
    exists = labels != MISSING
    assert (~exists).sum() == EXAMPLES and not exists[:, 2, 3].any()
    assert labels.max() == 8 and ari(GROUPS[exists], labels[exists]) == 1
    rows, leaves = atlas.table("nodes", "tree").to_pylist(), atlas.read("leaves", of="tree")
    maps_of = [(leaves >= row["first_leaf"]) & (leaves <= row["last_leaf"]) for row in rows]
    for level in (GROUPS, GROUPS // 3):
        for group in np.unique(level):
            (node,) = [
                row for row, maps in zip(rows, maps_of, strict=True) if (maps == ((level == group) & exists)).all()
            ]
            assert node["stability"] > 0.95
    assert [row["maps"] for row in rows] == [int(maps.sum()) for maps in maps_of]


def test_large_noise_leaves_three_patterns(tmp_path):
    atlas = make(tmp_path / "x.atlas", noise=2.0)
    labels = cluster.tree(atlas)
    exists = labels != MISSING
    assert labels.max() == 2 and ari(GROUPS[exists] // 3, labels[exists]) > 0.95


def test_no_structure_is_one_pattern_and_reported(tmp_path, capfd):
    atlas = make(tmp_path / "x.atlas")
    values = np.random.default_rng(5).normal(size=(EXAMPLES, 6, 12, 6))
    plant_features(atlas, "blob", values, 16)
    assert cluster.tree(atlas).max() == 0
    err = capfd.readouterr().err
    assert "tree found a single cluster: no finer cut of the tree is stable. Choose a lower stability, or give k" in err
    assert correlate.clusters(atlas, permutations=9).num_rows == 1


# stability


def test_stability_of_every_node_equals_a_slow_loop():
    rng = np.random.default_rng(2)
    x = (rng.normal(size=(4, 3))[rng.integers(4, size=150)] * 2 + rng.normal(size=(150, 3))).astype(np.float32)
    units = np.arange(150) // 5  # thirty examples
    settled, stable, _ = Tree().settle(x, x, 7, bar=False, units=units)
    tree = settled.grown.tree
    expected = []
    for number, weights in enumerate(forest.draws(150, units, 7)):
        assert weights.sum() == 150 and all(len(set(weights[units == unit])) == 1 for unit in range(30))
        drawn = np.flatnonzero(weights)
        other = forest.grow(x[drawn], weights[drawn], 30, 7 + 1 + number)
        sets = [{int(drawn[i]) for i in np.flatnonzero((other.leaf >= a) & (other.leaf <= b))}
                for a, b in zip(other.nodes.first, other.nodes.last, strict=True)]  # fmt: skip
        row = []
        for first, last in zip(tree.nodes.first, tree.nodes.last, strict=True):
            members = {int(i) for i in drawn if first <= tree.leaf[i] <= last}
            row.append(max(len(members & m) / len(members | m) for m in sets) if members else np.nan)
        expected.append(row)
    np.testing.assert_allclose(stable.of_nodes, np.nanmean(expected, 0))
    np.testing.assert_allclose(stable.low, np.nanpercentile(expected, 2.5, 0))
    assert stable.of_clusters(np.zeros(0), 0) == [stable.of_nodes[node] for node in stable.cut]


def test_few_examples_are_not_drawn_whole():
    weights = forest.draws(40, np.arange(40) // 20, 0)  # two examples
    assert any(len(set(draw[:20])) > 1 for draw in weights)


# any cut is a lookup


def test_labels_at_any_cut_are_those_of_a_clustering_with_that_k(atlas):
    nodes, leaves = atlas.table("nodes", "tree"), atlas.read("leaves", of="tree")
    assert (cluster.labels_at(nodes, leaves) == atlas.read("labels", of="tree")).all()
    for k in (2, 5, 20):
        expected = cluster.tree(atlas, k=k, name="other")
        labels = cluster.labels_at(nodes, leaves, k)
        assert (labels == expected).all() and labels.max() == k - 1
        assert (cluster.labels_at(nodes, leaves, cluster.nodes_at(nodes, k)) == labels).all()
    whole = cluster.labels_at(nodes, leaves, 1)
    assert set(np.unique(whole)) == {MISSING, 0}


def test_nodes_that_are_given_become_labels_in_their_order(atlas):
    nodes, leaves = atlas.table("nodes", "tree"), atlas.read("leaves", of="tree")
    a, b = children(nodes["parent"].fill_null(-1).to_pylist())[0]
    labels = cluster.labels_at(nodes, leaves, [b])
    row = nodes.slice(b, 1).to_pylist()[0]
    inside = (leaves >= row["first_leaf"]) & (leaves <= row["last_leaf"])
    assert (labels == np.where(leaves == MISSING, MISSING, np.where(inside, 0, -1))).all()
    assert (cluster.labels_at(nodes, leaves, [b, a])[inside] == 0).all()
    for wrong, words in (([0, a], f"nodes 0 and {a}: one contains"), ([999], "node 999: the tree has nodes 0 to")):
        with pytest.raises(OptionError, match=words):
            cluster.labels_at(nodes, leaves, wrong)
    with pytest.raises(OptionError, match="k 500: the tree has"):
        cluster.labels_at(nodes, leaves, 500)


def test_the_table_of_nodes(atlas):
    nodes = atlas.table("nodes", "tree").to_pydict()
    labels, distance = atlas.read("labels", of="tree"), atlas.read("distance", of="tree")
    leaves = atlas.read("leaves", of="tree")
    assert nodes["parent"][0] is None and nodes["share"][0] == 1 and nodes["stability"][0] == 1
    clusters = {cluster: node for node, cluster in enumerate(nodes["cluster"]) if cluster is not None}
    assert sorted(clusters) == list(range(9)) and [nodes["cut"][node] for node in clusters.values()] == [True] * 9
    assert [nodes["maps"][clusters[number]] for number in range(9)] == np.bincount(labels[labels >= 0]).tolist()
    facts = atlas.facts("cluster", "tree")["clusters"]
    assert [row["stability"] for row in facts] == [nodes["stability"][clusters[row["cluster"]]] for row in facts]
    assert all(a <= b <= c for a, b, c in zip(nodes["low"], nodes["stability"], nodes["high"], strict=True))
    sample = stage.take_sample(atlas, "nested", "maps", 0, 0)
    total = ((sample.x - sample.x.mean(0)) ** 2).sum()
    leaf = leaves[tuple(sample.index.T)]
    within = sum(((sample.x[leaf == n] - sample.x[leaf == n].mean(0)) ** 2).sum() for n in np.unique(leaf))
    assert sum(nodes["height"]) == pytest.approx(1 - within / total, rel=1e-4)
    member = tuple(np.argwhere(labels == 4)[0])
    center = sample.x[labels[tuple(sample.index.T)] == 4].mean(0)
    own = sample.x[(sample.index == member).all(1)][0]
    assert distance[member] == pytest.approx(np.linalg.norm(own - center), rel=1e-4)


# the same bits, and special cases


def test_maps_that_were_not_fitted_take_the_leaf_of_the_nearest_mini_cluster(atlas):
    cluster.tree(atlas, sample=1420, name="part")
    sample = stage.take_sample(atlas, "nested", "maps", 1420, 0)
    settled, *_ = Tree().settle(sample.x, sample.x, 0, bar=False, units=sample.index[:, 0])
    values, leaves = atlas.read("features", of="nested"), atlas.read("leaves", of="part")
    exists = leaves != MISSING
    x = sample.space.apply(values[exists])
    distances = ((x[:, None] - settled.grown.tree.centers[None]) ** 2).sum(-1)
    assert (distances.argmin(1) == leaves[exists]).mean() > 0.999
    nodes = atlas.table("nodes", "part").to_pydict()
    assert nodes["fitted"][0] == 1420 and nodes["maps"][0] == exists.sum()


def test_processes_and_another_run_give_the_same_bits(atlas, tmp_path):
    other = make(tmp_path / "x.atlas")
    cluster.tree(other, workers=2)
    assert bits(other) == bits(atlas)


def test_a_stopped_run_continues_with_the_same_bits(atlas, tmp_path, monkeypatch):
    other = make(tmp_path / "x.atlas")
    with stopping(monkeypatch, StoreError("no space left"), at=3), pytest.raises(StoreError, match="no space"):
        cluster.tree(other)
    other = ha.open(Path(other.files.url))
    assert other.results("cluster") == {}
    cluster.tree(other)
    assert bits(other) == bits(atlas)


def test_heads(tmp_path):
    atlas = planted(tmp_path / "x.atlas", np.broadcast_to(np.arange(48).reshape(4, 12) % 4, (20, 4, 12)).copy())
    labels, leaves = cluster.tree(atlas, level="heads"), atlas.read("leaves", of="tree-heads")
    assert atlas.latest("cluster") == "tree-heads"
    assert (labels == labels[:1]).all() and (leaves == leaves[:1]).all()
    assert ari(np.arange(48) % 4, labels[0].ravel()) == 1
    nodes = atlas.table("nodes").to_pydict()
    assert nodes["maps"][0] == 20 * 48 and nodes["fitted"][0] == 48


@pytest.mark.parametrize("examples", [1, 2])
def test_one_or_two_texts(tmp_path, examples):
    atlas = make(tmp_path / "x.atlas", examples=examples)
    labels = cluster.tree(atlas)
    assert labels.shape == (examples, 6, 12) and (labels[:, 2, 3] == MISSING).all()
    assert (cluster.labels_at(atlas.table("nodes"), atlas.read("leaves"), 2).max() == 1).all()
    assert correlate.clusters(atlas, permutations=9).num_rows == labels.max() + 1


def test_two_maps_are_one_pattern(tmp_path):
    atlas = planted(tmp_path / "x.atlas", np.array([[[0, 1]]]))
    assert cluster.tree(atlas).tolist() == [[[0, 0]]]
    assert atlas.table("nodes")["maps"].to_pylist() == [2, 1, 1]


def test_maps_that_are_all_the_same(tmp_path):
    atlas = planted(tmp_path / "x.atlas", np.zeros((20, 1, 2), int), noise=0.0)
    with pytest.raises(DataError, match="all maps have the same features: nothing to cluster"):
        cluster.tree(atlas)


def test_many_copies_of_few_maps(tmp_path, capfd):
    patterns = np.arange(240).reshape(20, 3, 4) % 5
    atlas = planted(tmp_path / "x.atlas", patterns, noise=0.0)
    assert ari(patterns.ravel(), cluster.tree(atlas).ravel()) == 1
    assert atlas.table("nodes").num_rows == 9
    assert cluster.tree(atlas, k=9, name="nine").max() == 4
    assert "only 5 of 9 clusters have maps: many maps are the same" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 1}, "k 1: give a whole number of at least 2, or auto"),
        ({"k": 500}, "k 500: the tree of 4,260 maps has only 200 leaves. Choose a smaller k, or auto"),
        ({"stability": 1.5}, "stability 1.5: give a number from 0 to 1"),
        ({"smallest": -0.1}, "smallest -0.1: it cannot be negative"),
        ({"backend": "cuml"}, "backend 'cuml': choose sklearn"),
    ],
)
def test_invalid_options_are_refused(atlas, options, words):
    with pytest.raises(OptionError, match=words):
        cluster.tree(atlas, **options, name="wrong")


def test_a_sweep_tries_each_number(atlas):
    rows = cluster.sweep(atlas, methods=["tree"], ks=[3, 9, 500]).to_pydict()
    assert rows["clusters"] == [3, 9] and min(rows["stability"]) > 0.9
