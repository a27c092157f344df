"""A tree of patterns: planted patterns are found, stability equals a slow loop, any cut is a lookup, the same bits."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_mutual_info_score as ami
from sklearn.metrics import adjusted_rand_score as ari

import headatlas as ha
from headatlas import cluster, correlate
from headatlas.atlas.schema import MISSING
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.numeric.hierarchy import children
from headatlas.stages.cluster import forest, minis, stage, typical
from headatlas.stages.cluster.methods.tree import Tree
from support.atlases import folders, stopping
from support.planted import plant_features, planted

EXAMPLES = 40
GROUPS = np.random.default_rng(3).integers(9, size=(EXAMPLES, 6, 12))  # three groups of three: group // 3, group


def nested(noise, near=4.0):
    """Features (example, layer, head, feature) of maps in three far groups of three near ones; one head is missing."""
    values = np.concatenate([8 * np.eye(3)[GROUPS // 3], near * np.eye(3)[GROUPS % 3]], -1)
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


def test_groups_hidden_by_noise_leave_three_patterns(tmp_path):
    atlas = make(tmp_path / "x.atlas")
    plant_features(atlas, "hidden", nested(1.0, near=1.0), 16)
    labels = cluster.tree(atlas)
    exists = labels != MISSING
    assert labels.max() == 2 and ari(GROUPS[exists] // 3, labels[exists]) == 1


@pytest.mark.parametrize("count", [3, 5, 12, 30])
def test_separate_blobs_are_found_exactly(count):
    rng = np.random.default_rng(count)
    groups = rng.integers(count, size=2000)
    x = 4 * rng.normal(size=(count, 8))[groups] + 0.5 * rng.normal(size=(2000, 8))
    assert ari(groups, labels_of(x)) == 1


def test_a_continuum_beside_blobs_does_not_shatter():
    rng = np.random.default_rng(4)
    groups = rng.integers(8, size=2000)
    x = 6 * rng.normal(size=(8, 6))[groups] + 0.5 * rng.normal(size=(2000, 6))
    x[groups == 0] += rng.uniform(-3, 3, size=(np.count_nonzero(groups == 0), 1)) * np.eye(6)[0]  # a bar
    labels = labels_of(x)
    assert len(np.unique(labels[groups == 0])) <= 3
    assert len(np.unique(labels[groups > 0])) == 7 and ari(groups[groups > 0], labels[groups > 0]) == 1


def labels_of(x):
    """Labels of points, 72 of each example, by the default cut."""
    x = x.astype(np.float32)
    settled, *_ = Tree().settle(x, x, 0, bar=False, units=np.arange(len(x)) // 72)
    return settled.fit(x, 0)[1]


def test_halves_of_overlapping_patterns_agree():
    rng = np.random.default_rng(9)
    x = (3 * rng.normal(size=(20, 6))[rng.integers(20, size=4000)] + rng.normal(size=(4000, 6))).astype(np.float32)
    labels = [Tree().fit(half, 0)[0].assign(x) for half in (x[:2000], x[2000:])]
    counts = [int(of_half.max()) + 1 for of_half in labels]
    assert min(counts) >= 10 and min(counts) / max(counts) >= 0.8 and ami(*labels) >= 0.8


@pytest.mark.slow
def test_no_structure_is_one_pattern_and_reported(tmp_path, capfd):
    atlas = make(tmp_path / "x.atlas")
    values = np.random.default_rng(5).normal(size=(EXAMPLES, 6, 12, 6))
    plant_features(atlas, "blob", values, 16)
    assert cluster.tree(atlas).max() == 0
    err = capfd.readouterr().err
    assert "tree found a single cluster: no finer clusters are stable. Choose a lower stability, or give k" in err
    assert correlate.clusters(atlas, permutations=9).num_rows == 1


# stability


def test_stability_of_every_node_equals_a_slow_loop():
    rng = np.random.default_rng(2)
    x = (rng.normal(size=(4, 3))[rng.integers(4, size=150)] * 2 + rng.normal(size=(150, 3))).astype(np.float32)
    units = np.arange(150) // 5  # thirty examples
    settled, stable, _ = Tree(4).settle(x, x, 7, bar=False, units=units)
    tree, mini = settled.grown.tree, minis.mini_clusters(x, np.ones(150, np.int64), 7)
    leaf = tree.leaves(x)
    expected = []
    for weights in minis.draws(150, units, 7):
        assert weights.sum() == 150 and all(len(set(weights[units == unit])) == 1 for unit in range(30))
        sample = mini.weighted(x, weights)
        other = forest.regrow(sample, typical.solve(sample, [4])[0])
        other_leaf = other.leaves(x)
        sets = [set(np.flatnonzero((other_leaf >= a) & (other_leaf <= b)))
                for a, b in zip(other.nodes.first, other.nodes.last, strict=True)]  # fmt: skip
        members = [set(np.flatnonzero((leaf >= first) & (leaf <= last)))
                   for first, last in zip(tree.nodes.first, tree.nodes.last, strict=True)]  # fmt: skip
        expected.append([max(len(m & other) / len(m | other) for other in sets) for m in members])
    np.testing.assert_allclose(stable.of_nodes, np.mean(expected, 0))
    np.testing.assert_allclose(stable.low, np.percentile(expected, 2.5, 0))
    assert stable.of_clusters(np.zeros(0), 0) == [stable.of_nodes[node] for node in stable.cut]


def test_every_map_belongs_to_the_nearest_center_and_the_nearest_leaf_of_its_cluster():
    x = np.random.default_rng(6).normal(size=(400, 3)).astype(np.float32)
    tree = Tree(5).settle(x, x, 0, bar=False)[0].grown.tree
    clusters = ((x[:, None] - tree.centers) ** 2).sum(-1).argmin(1)
    distances = np.where(tree.owner == clusters[:, None], ((x[:, None] - tree.points) ** 2).sum(-1), np.inf)
    assert (tree.leaves(x) == distances.argmin(1)).all()
    np.testing.assert_allclose(tree.centers, [x[clusters == cluster].mean(0) for cluster in range(5)], atol=1e-5)


def test_few_examples_are_not_drawn_whole():
    weights = minis.draws(40, np.arange(40) // 20, 0)  # two examples
    assert any(len(set(draw[:20])) > 1 for draw in weights)


# any cut is a lookup


def test_labels_at_any_level_are_nested_and_contain_the_default_cut(atlas):
    nodes, leaves = atlas.table("nodes", "tree"), atlas.read("leaves", of="tree")
    assert (cluster.labels_at(nodes, leaves) == atlas.read("labels", of="tree")).all()
    a, b = children(nodes["parent"].fill_null(-1).to_pylist())[0]
    parts = children(nodes["parent"].fill_null(-1).to_pylist())[b]
    other_cut = pa.array([node in (a, *parts) for node in range(nodes.num_rows)])  # not the last two merges, or these
    other = nodes.set_column(nodes.schema.get_field_index("cut"), "cut", other_cut)
    for table in (nodes, other):
        default = np.flatnonzero(table["cut"]).tolist()
        assert sorted(cluster.nodes_at(table, len(default))) == default
        finer = cluster.labels_at(table, leaves, 200)
        for k in (20, 9, 5, 3, 2, 1):
            labels = cluster.labels_at(table, leaves, k)
            assert (
                labels.max() == k - 1 and (cluster.labels_at(table, leaves, cluster.nodes_at(table, k)) == labels).all()
            )
            pairs = {
                (fine, coarse) for fine, coarse in zip(finer.ravel().tolist(), labels.ravel().tolist(), strict=True)
            }
            assert len(pairs) == len({fine for fine, _ in pairs})  # every finer pattern is in one coarser pattern
            finer = labels
    assert set(np.unique(finer)) == {MISSING, 0}


def test_a_given_number_of_clusters_is_a_cut_of_its_own_tree(atlas):
    labels = cluster.tree(atlas, k=5, name="five")
    nodes, leaves = atlas.table("nodes", "five"), atlas.read("leaves", of="five")
    assert labels.max() == 4 and (cluster.labels_at(nodes, leaves, 5) == labels).all()
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


def test_maps_that_were_not_fitted_take_the_nearest_leaf(atlas):
    cluster.tree(atlas, sample=1420, name="part")
    sample = stage.take_sample(atlas, "nested", "maps", 1420, 0)
    settled, *_ = Tree().settle(sample.x, sample.x, 0, bar=False, units=sample.index[:, 0])
    values, leaves = atlas.read("features", of="nested"), atlas.read("leaves", of="part")
    exists = leaves != MISSING
    x = sample.space.apply(values[exists])
    assert (settled.grown.tree.leaves(x) == leaves[exists]).mean() > 0.999
    nodes = atlas.table("nodes", "part").to_pydict()
    assert nodes["fitted"][0] == 1420 and nodes["maps"][0] == exists.sum()


@pytest.mark.slow
def test_processes_and_another_run_give_the_same_bits(atlas, tmp_path):
    other = make(tmp_path / "x.atlas")
    cluster.tree(other, workers=2)
    assert bits(other) == bits(atlas)


@pytest.mark.slow
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


def test_a_model_with_a_single_head(tmp_path):
    patterns = np.arange(300).reshape(300, 1, 1) % 3
    atlas = planted(tmp_path / "x.atlas", patterns)
    assert ari(patterns.ravel(), cluster.tree(atlas).ravel()) == 1


def test_infinite_features_are_refused(tmp_path):
    atlas = make(tmp_path / "x.atlas")
    values = nested(0.2)
    values[3, 1, 1, 0] = np.inf
    plant_features(atlas, "infinite", values, 16)
    with pytest.raises(DataError, match="some features are infinite: make the features again with another encoder"):
        cluster.tree(atlas)


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
        ({"k": 500}, "k 500: the tree of 2,840 maps has only 400 leaves. Choose a smaller k, or auto"),
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
