"""Trees of clusters: equal to SciPy's Ward method, groups are merged first, matches by a slow loop, nested cuts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score as ari

from headatlas.numeric.hierarchy import Hierarchy, best_matches, children, cut_at, levels, ward


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


def test_groups_are_merged_first_and_are_a_cut(rng):
    centers, sizes, groups = rng.normal(size=(30, 2)), rng.integers(1, 9, size=30), np.arange(30) % 4
    tree = ward(centers, sizes, groups)
    cut = cut_at(tree.parent, 4)
    assert {frozenset(members(tree, node)) for node in cut} == {frozenset(range(first, 30, 4)) for first in range(4)}
    for node in cut:  # each group is merged as if it were alone
        rows = sorted(members(tree, node))
        alone = ward(centers[rows], sizes[rows])
        inside = [n for n in range(59) if tree.first[node] <= tree.first[n] and tree.last[n] <= tree.last[node]]
        np.testing.assert_allclose(tree.height[inside], alone.height, atol=1e-12)
        assert members(tree, inside[1]) == {rows[i] for i in members(alone, 1)}
    mean = np.average(centers, axis=0, weights=sizes)
    assert tree.height.sum() == pytest.approx((sizes * ((centers - mean) ** 2).sum(1)).sum())
    assert (np.diff(tree.height[3:29]) <= 1e-9).all() and (np.diff(tree.height[:3]) <= 1e-9).all()


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
    assert tree.parent.tolist() == [-1] and cut_at(tree.parent, 1) == [0]
    assert ward(np.zeros((1, 3)), np.array([7]), np.array([0])).parent.tolist() == [-1]


# the family of cuts


@st.composite
def trees_and_cuts(draw):
    """A tree of random points (some of them equal), one of its cuts, and how many clusters there may be."""
    leaves = draw(st.integers(1, 12))
    places = draw(st.lists(st.integers(0, 20), min_size=leaves, max_size=leaves))
    tree = ward(np.array(places, float)[:, None], np.ones(leaves))
    parts, cut = children(tree.parent), [0]
    for _ in range(draw(st.integers(0, leaves - 1))):
        node = draw(st.sampled_from([node for node in cut if node in parts]))
        cut = [*(other for other in cut if other != node), *parts[node]]
    return tree, cut, draw(st.integers(1, 14))


@given(trees_and_cuts())
def test_cuts_at_all_levels_are_nested_and_contain_the_given_one(case):
    tree, cut, most = case
    ranges = levels(tree.parent.tolist(), tree.height.tolist(), cut, most)
    finest = max(len(cut), min(most, tree.leaves))
    assert all(1 <= least <= largest <= finest for least, largest in ranges.values())
    family = [
        {node for node, (least, largest) in ranges.items() if least <= k <= largest} for k in range(1, finest + 1)
    ]
    assert family[0] == {0} and family[len(cut) - 1] == set(cut)
    for nodes in family:
        assert sorted(leaf for node in nodes for leaf in members(tree, node)) == list(range(tree.leaves))
    parts = children(tree.parent)
    for k, (coarse, fine) in enumerate(itertools.pairwise(family), 1):
        (node,) = coarse - fine
        assert len(coarse) == k and fine - coarse == set(parts[node])
        if k < len(cut):  # of all pairs in the finer cut, the most similar are merged
            pairs = [above for above, pair in parts.items() if fine.issuperset(pair)]
            assert tree.height[node] == min(tree.height[above] for above in pairs)
        else:  # the node whose parts differ most is split
            assert tree.height[node] == max(tree.height[other] for other in coarse if other in parts)


def test_levels_of_the_last_merges_are_those_of_the_whole_tree(rng):
    tree = ward(rng.normal(size=(30, 2)), np.ones(30))
    for k in (1, 4, 30):
        ranges = levels(tree.parent.tolist(), tree.height.tolist(), cut_at(tree.parent, k), 30)
        for count in range(1, 31):
            nodes = [node for node, (least, largest) in ranges.items() if least <= count <= largest]
            assert sorted(nodes) == cut_at(tree.parent, count)
