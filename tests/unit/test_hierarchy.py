"""Trees of clusters: equal to SciPy's Ward method, cuts found by trying all of them, matches by a slow loop."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score as ari

from headatlas.numeric.hierarchy import Hierarchy, best_matches, children, cut_at, ward


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def members(tree: Hierarchy, node):
    """The merged clusters that a node holds."""
    return {int(cluster) for cluster in tree.order[tree.first[node] : tree.last[node] + 1]}


def labels(tree, cut):
    """For each merged cluster the node of a cut that holds it."""
    return [next(node for node in cut if cluster in members(tree, node)) for cluster in range(tree.leaves)]


@pytest.mark.parametrize("count", [2, 3, 40])
def test_ward_matches_scipy_on_single_points(rng, count):
    x = rng.normal(size=(count, 4))
    tree, reference = ward(x, np.ones(count)), linkage(x, "ward")
    np.testing.assert_allclose(np.sqrt(2 * tree.height[: count - 1][::-1]), reference[:, 2])  # SciPy's distance
    for k in range(1, count + 1):
        assert ari(fcluster(reference, k, "maxclust"), labels(tree, cut_at(tree.parent, k))) == 1


def test_ward_of_clusters_matches_scipy_on_all_their_points(rng):
    sizes = rng.integers(1, 9, size=30)
    centers = rng.normal(size=(30, 3))
    points = centers.repeat(sizes, 0)  # points of a cluster are the same: SciPy merges them first
    tree, reference = ward(centers, sizes), linkage(points, "ward")
    np.testing.assert_allclose(np.sqrt(2 * tree.height[:29][::-1]), reference[-29:, 2])
    for k in (2, 5, 12, 30):
        expected = fcluster(reference, k, "maxclust")[np.cumsum(sizes) - 1]
        assert ari(expected, labels(tree, cut_at(tree.parent, k))) == 1


def test_heights_and_what_is_within_leaves_add_up_to_the_variance(rng):
    x = rng.normal(size=(500, 3))
    leaf = rng.integers(20, size=500)
    means = np.stack([x[leaf == number].mean(0) for number in range(20)])
    within = ((x - means[leaf]) ** 2).sum()
    tree = ward(means, np.bincount(leaf))
    assert tree.height.sum() + within == pytest.approx(((x - x.mean(0)) ** 2).sum())


def test_every_node_is_a_range_and_its_parts_have_higher_numbers(rng):
    tree = ward(rng.normal(size=(25, 2)), rng.integers(1, 5, size=25))
    parts = children(tree.parent)
    assert sorted(parts) == list(range(24)) and sorted(tree.order.tolist()) == list(range(25))
    values = rng.integers(10, size=25)
    for node, (a, b) in parts.items():
        assert node < a and node < b and members(tree, node) == members(tree, a) | members(tree, b)
        assert {tree.first[node], tree.last[node]} <= {tree.first[a], tree.first[b], tree.last[a], tree.last[b]}
        assert tree.sums(values)[node] == values[tree.first[node] : tree.last[node] + 1].sum()
    assert (tree.first[24:] == np.arange(25)).all() and (np.diff(tree.height[:24]) <= 1e-9).all()


def cuts(parts, node=0):
    """Every set of nodes that covers the leaves of a node once."""
    yield (node,)
    if node in parts:
        for left, right in itertools.product(*(list(cuts(parts, part)) for part in parts[node])):
            yield left + right


def test_the_best_cut_is_the_best_of_all_cuts(rng):
    tree = ward(rng.normal(size=(9, 2)), np.ones(9))
    every_cut = list(cuts(children(tree.parent)))
    for _ in range(200):
        gain, allowed = rng.normal(size=17), rng.random(17) < 0.7
        allowed[0] = True
        valid = [cut for cut in every_cut if allowed[list(cut)].all()]
        assert tree.best_cut(gain, allowed) == sorted(max(valid, key=lambda cut: gain[list(cut)].sum()))
    assert tree.best_cut(np.zeros(17), np.full(17, True)) == [0]  # the coarsest of equals


def test_best_matches_equal_a_slow_loop(rng):
    tree, other = (ward(rng.normal(size=(count, 2)), np.ones(count)) for count in (12, 9))
    leaf = rng.integers(11, size=200)  # none in the last leaf
    other_leaf = (leaf * 9 // 12 + rng.integers(2, size=200)) % 9
    expected = []
    for node in range(23):
        points = {i for i in range(200) if tree.first[node] <= leaf[i] <= tree.last[node]}
        others = [{i for i in range(200) if other.first[m] <= other_leaf[i] <= other.last[m]} for m in range(17)]
        expected.append(max(len(points & m) / len(points | m) for m in others) if points else np.nan)
    np.testing.assert_allclose(best_matches(tree, leaf, other, other_leaf), expected)
    assert np.isnan(expected).sum() == 1


def test_one_leaf():
    tree = ward(np.zeros((1, 3)), np.array([7]))
    assert tree.parent.tolist() == [-1] and tree.best_cut(np.array([0.0]), np.array([False])) == [0] == cut_at(
        tree.parent, 1
    )
