"""Trees of mini-clusters around given clusters: of all points, of bootstrap samples, and how stable each node is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.hierarchy import Hierarchy, Reals, best_matches, ward
from headatlas.numeric.metrics import interval
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.fit import ROOM, Labels, of_centers
from headatlas.stages.cluster.minis import MiniClusters, Points
from headatlas.stages.cluster.vectors import Floats


@dataclass(frozen=True)
class ClusterTree:
    """A tree of mini-clusters in which the clusters that it was made around are a cut."""

    nodes: Hierarchy
    centers: Floats  # (cluster, axis); a map belongs to the cluster of the nearest
    points: Floats  # (leaf, axis); and to the nearest leaf of that cluster
    owner: Labels  # cluster of each leaf

    def leaves(self, x: Floats) -> Labels:
        """The leaf of each map."""
        return nearest_within(x, self.centers, self.points, self.owner)

    @property
    def cut(self) -> list[int]:
        """The node that each cluster is."""
        ends = [np.flatnonzero(self.owner == cluster)[[0, -1]] for cluster in range(len(self.centers))]
        nodes = zip(self.nodes.first.tolist(), self.nodes.last.tolist(), strict=True)
        node_of = {range_of_leaves: node for node, range_of_leaves in enumerate(nodes)}
        return [node_of[int(first), int(last)] for first, last in ends]


@dataclass(frozen=True)
class NodeStability(Stability):
    """The stability of a tree: of its clusters together, and of each node."""

    of_nodes: Reals  # (node,) mean Jaccard index with the best match of each bootstrap tree
    low: Reals  # 95 % of the bootstrap trees are between …
    high: Reals  # … these
    cut: tuple[int, ...]  # the nodes that are clusters

    def of_clusters(self, labels: Labels, count: int) -> list[float]:
        """Stability of the node that each cluster is."""
        return [float(self.of_nodes[node]) for node in self.cut]


@dataclass(frozen=True)
class Grown:
    """A tree of all fitted maps, and what is known of its nodes."""

    tree: ClusterTree
    fitted: NDArray[np.int64]  # maps of each node
    height: Reals  # of each node, as a share of the sum of squared distances of all maps to their mean
    stable: NodeStability | None = None


def nearest_within(x: Floats, centers: Floats, points: Floats, owner: Labels) -> Labels:
    """For each map, the nearest of the points that the nearest center owns, in batches that bound the memory.

    >>> x, centers = np.array([[4.0], [6.0]], np.float32), np.array([[0.0], [10.0]], np.float32)
    >>> nearest_within(x, centers, np.array([[0.0], [9.0], [5.5]], np.float32), np.array([0, 1, 0], np.int32)).tolist()
    [2, 1]
    """
    leaves = np.empty(len(x), np.int32)
    clusters = of_centers(centers).assign(x)
    far = np.where(np.arange(len(centers))[:, None] == owner, np.float32(0), np.float32(np.inf))
    far += np.einsum("ij,ij->i", points, points)
    rows = max(1, ROOM // len(points))
    for start in range(0, len(x), rows):
        distances = x[start : start + rows] @ points.T
        distances *= -2
        distances += far[clusters[start : start + rows]]
        leaves[start : start + rows] = distances.argmin(1)
    return leaves


def grow(x: Floats, minis: MiniClusters, centers: Floats) -> Grown:
    """The tree of all points around clusters of these centers; a cluster without a mini-cluster is a leaf itself."""
    owner = of_centers(centers).assign(minis.centers)
    bare = np.setdiff1d(np.arange(len(centers), dtype=np.int32), owner)
    points, owner = np.concatenate([minis.centers, centers[bare]]), np.concatenate([owner, bare])
    used, leaf = np.unique(nearest_within(x, centers, points, owner), return_inverse=True)
    leaves = MiniClusters(points[used], leaf.astype(np.int32)).weighted(x, np.ones(len(x)))
    tree = _tree(leaves, points[used], centers, owner[used])
    wide = x.astype(np.float64)
    variance = float(((wide - wide.mean(0)) ** 2).sum())
    return Grown(tree, tree.nodes.sums(leaves.sizes[tree.nodes.order].astype(np.int64)), tree.nodes.height / variance)


def regrow(sample: Points, centers: Reals) -> ClusterTree:
    """The tree of a bootstrap sample around clusters of these centers, those with any mini-cluster."""
    present = Points(sample.means[sample.sizes > 0], sample.sizes[sample.sizes > 0])
    points = present.means.astype(np.float32)
    used, owner = np.unique(of_centers(centers).assign(points), return_inverse=True)
    return _tree(present, points, centers[used].astype(np.float32), owner.astype(np.int32))


def _tree(leaves: Points, points: Floats, centers: Floats, owner: Labels) -> ClusterTree:
    nodes = ward(leaves.means, leaves.sizes, owner)
    return ClusterTree(nodes, centers, points[nodes.order], owner[nodes.order])


def match(tree: ClusterTree, others: list[ClusterTree], x: Floats) -> Reals:
    """Jaccard index (other tree, node) of each node with its best match in another tree; NaN for nodes without maps."""
    leaf = tree.leaves(x)
    return np.stack([best_matches(tree.nodes, leaf, other.nodes, other.leaves(x)) for other in others])


def node_stability(matches: Reals) -> tuple[Reals, Reals, Reals]:
    """Mean, low and high (node,) of Jaccard indices (bootstrap tree, node); 0, NaN and NaN for nodes without maps."""
    known = ~np.isnan(matches)
    mean: Reals = np.where(known, matches, 0).sum(0) / np.maximum(known.sum(0), 1)
    low, high = interval(matches)
    return mean, low, high
