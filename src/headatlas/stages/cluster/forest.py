"""Trees of mini-clusters: one on all points, others on bootstrap samples, and how stable each node is among them."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.numeric.hierarchy import Hierarchy, Reals, best_matches, cut_at, ward
from headatlas.numeric.metrics import interval
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.auto import ABSENT, Stability
from headatlas.stages.cluster.fit import Labels, of_centers
from headatlas.stages.cluster.vectors import Floats

LEAVES = 200  # mini-clusters at most …
MAPS_PER_LEAF = 5  # … and one for so many maps
TREES = 20  # bootstrap samples
LEAST_UNITS = 10  # examples from which on whole examples are drawn; with fewer, maps are

Weights = NDArray[np.int64]


def leaf_count(maps: int) -> int:
    """Number of mini-clusters for so many maps.

    >>> leaf_count(100_000), leaf_count(100), leaf_count(3), leaf_count(1)
    (200, 20, 2, 1)
    """
    return min(maps, max(2, min(LEAVES, maps // MAPS_PER_LEAF)))


@dataclass(frozen=True)
class ClusterTree:
    """A tree and its mini-clusters, in the order of its leaves."""

    nodes: Hierarchy
    centers: Floats  # (leaf, axis); a map belongs to the leaf of the nearest
    leaf: Labels  # of each fitted map
    variance: float  # sum of squared distances of all fitted maps to their mean

    @property
    def maps(self) -> Weights:
        """Fitted maps of each node."""
        counts: Weights = self.nodes.sums(np.bincount(self.leaf, minlength=self.nodes.leaves))
        return counts

    def labels(self, cut: list[int]) -> Labels:
        """For each leaf, which node of a cut it belongs to."""
        labels = np.empty(self.nodes.leaves, np.int32)
        for label, node in enumerate(cut):
            labels[self.nodes.first[node] : self.nodes.last[node] + 1] = label
        return labels

    def by_size(self, cut: list[int]) -> list[int]:
        """The nodes of a cut, the largest first; of equal ones the one whose leaves come first."""
        maps = self.maps
        return sorted(cut, key=lambda node: (-maps[node], self.nodes.first[node]))


def grow(x: Floats, weights: Weights, leaves: int, seed: int) -> ClusterTree:
    """A tree of points of some weights, merged by Ward's method from mini-clusters, which KMeans finds."""
    from sklearn.cluster import KMeans

    model = KMeans(min(leaves, len(x)), n_init=1, random_state=seed, algorithm="lloyd")
    centers = model.fit(x, sample_weight=weights.astype(x.dtype)).cluster_centers_
    used, leaf = np.unique(of_centers(centers).assign(x), return_inverse=True)
    leaf = leaf.astype(np.int32)
    wide, weight = x.astype(np.float64), weights.astype(np.float64)
    sizes = np.bincount(leaf, weight)
    sums = np.stack([np.bincount(leaf, column * weight) for column in wide.T], 1)
    nodes = ward(sums / sizes[:, None], sizes)
    place = np.argsort(nodes.order).astype(np.int32)  # of each mini-cluster among the leaves
    spread = float((weight[:, None] * (wide - sums.sum(0) / sizes.sum()) ** 2).sum())
    return ClusterTree(nodes, centers[used][nodes.order].astype(np.float32), place[leaf], spread)


@dataclass(frozen=True)
class Forest:
    """Trees of bootstrap samples of the same points."""

    trees: tuple[ClusterTree, ...]
    drawn: tuple[NDArray[np.bool_], ...]  # for each tree, which points it was made from

    def matches(self, tree: Hierarchy, leaf: Labels) -> Reals:
        """Jaccard index (bootstrap tree, node) of each node of a tree of these points with its best match."""
        pairs = zip(self.trees, self.drawn, strict=True)
        return np.stack([best_matches(tree, leaf[drawn], other.nodes, other.leaf) for other, drawn in pairs])

    def groups(self, k: int) -> tuple[Labels, ...]:
        """Clusters of each tree, cut in k; ABSENT for points that it was not made from."""
        groups = []
        for tree, drawn in zip(self.trees, self.drawn, strict=True):
            labels = np.full(len(drawn), ABSENT, np.int32)
            labels[drawn] = tree.labels(cut_at(tree.nodes.parent, k))[tree.leaf]
            groups.append(labels)
        return tuple(groups)


def bootstrap(x: Floats, units: NDArray[Any] | None, leaves: int, seed: int, bar: bool = True) -> Forest:
    """Trees of bootstrap samples, each of which draws whole units (examples) where there are enough of them."""
    drawn = draws(len(x), units, seed)
    trees: list[ClusterTree | None] = [None] * len(drawn)
    with (
        progress.bar("growing trees", len(drawn), "trees") if bar else nullcontext(_silent) as advance,
        closing(parallel.run(partial(_grow, x, drawn, leaves, seed), range(len(drawn)))) as results,
    ):
        for number, tree in results:
            trees[number] = tree
            advance(1)
    return Forest(tuple(tree for tree in trees if tree is not None), tuple(weights > 0 for weights in drawn))


def draws(count: int, units: NDArray[Any] | None, seed: int) -> list[Weights]:
    """How often each point is in each bootstrap sample; points of one unit equally often."""
    unit = np.arange(count) if units is None else np.unique(units, return_inverse=True)[1]
    total = int(unit.max()) + 1
    if total < LEAST_UNITS:
        unit, total = np.arange(count), count
    rng = np.random.default_rng([seed, 78])
    return [np.bincount(rng.integers(total, size=total), minlength=total)[unit] for _ in range(TREES)]


@single_thread()
def _grow(x: Floats, drawn: list[Weights], leaves: int, seed: int, number: int) -> tuple[int, ClusterTree]:
    parallel.check()
    present = drawn[number] > 0
    return number, grow(x[present], drawn[number][present], leaves, seed + 1 + number)


def _silent(steps: int) -> None:
    pass


@dataclass(frozen=True)
class NodeStability(Stability):
    """The stability of a tree: of the clustering with as many clusters as its default cut, and of each node."""

    of_nodes: Reals  # (node,) mean Jaccard index with the best match of each bootstrap tree; 0 if it was never drawn
    low: Reals  # 95 % of the bootstrap trees are between …
    high: Reals  # … these
    cut: tuple[int, ...]  # the nodes that are clusters

    def of_clusters(self, labels: Labels, count: int) -> list[float]:
        """Stability of the node that each cluster is."""
        return [float(self.of_nodes[node]) for node in self.cut]


def node_stability(matches: Reals) -> tuple[Reals, Reals, Reals]:
    """Mean, low and high (node,) of Jaccard indices (bootstrap tree, node); NaN where no point of a node was drawn."""
    known = ~np.isnan(matches)
    mean: Reals = np.where(known, matches, 0).sum(0) / np.maximum(known.sum(0), 1)
    low, high = interval(matches)
    return mean, low, high
