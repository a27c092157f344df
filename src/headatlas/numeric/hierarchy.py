"""Trees of clusters: Ward's method on clusters of known size, cuts through a tree, and how alike two trees are.

Nodes are numbered so that a tree can be cut by number: the root is 0, then come the other inner nodes in the order in
which they are split, the last merge first, then the leaves. Leaves are in an order in which every node covers a range.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
LEVELS = 60  # clusters of the finest cut that is named and shown


@dataclass(frozen=True)
class Hierarchy:
    """A binary tree. Arrays have one entry per node, 2 · leaves − 1 of them, but for `order`.

    >>> tree = ward(np.array([[9.0], [0.0], [1.0]]), np.array([1, 1, 1]))
    >>> tree.parent.tolist(), tree.first.tolist(), tree.last.tolist(), tree.order.tolist()
    ([-1, 0, 1, 1, 0], [0, 0, 0, 1, 2], [2, 1, 0, 1, 2], [1, 2, 0])
    """

    parent: Numbers  # −1 for the root
    height: Reals  # what merging the two parts of a node adds to the sum of squared distances; 0 for leaves
    first: Numbers  # first and last leaf of each node
    last: Numbers
    order: Numbers  # (leaf,) which of the merged clusters each leaf is

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.order)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums (node, …) of values of the leaves (leaf, …).

        >>> ward(np.array([[9.0], [0.0], [1.0]]), np.array([1, 1, 1])).sums(np.array([1, 2, 4])).tolist()
        [7, 3, 1, 2, 4]
        """
        totals = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, 0, dtype=values.dtype)])
        sums: NDArray[Any] = totals[self.last + 1] - totals[self.first]
        return sums


def children(parent: Iterable[int]) -> dict[int, list[int]]:
    """The two parts of each inner node.

    >>> children([-1, 0, 1, 1, 0])
    {0: [1, 4], 1: [2, 3]}
    """
    parts: dict[int, list[int]] = {}
    for node, above in enumerate(parent):
        if above >= 0:
            parts.setdefault(int(above), []).append(node)
    return parts


def cut_at(parent: NDArray[Any], k: int) -> list[int]:
    """The k nodes that are left when the last k − 1 merges are undone; all leaves if there are no more than k.

    >>> [cut_at(np.array([-1, 0, 1, 1, 0]), k) for k in (1, 2, 3)]
    [[0], [1, 4], [2, 3, 4]]
    """
    split = min(k, (len(parent) + 1) // 2) - 1  # the nodes before this one
    return [node for node in range(split, len(parent)) if parent[node] < split]


def levels(
    parent: Sequence[int], height: Sequence[float], cut: Sequence[int], most: int = LEVELS
) -> dict[int, tuple[int, int]]:
    """For each node that is in some cut of a family, the least and the largest number of clusters at which it is.

    The family has a cut for each number of clusters, and each cut refines the one before. It contains the given cut:
    coarser ones merge the two parts with the least height of their parent, finer ones split the node with the largest
    height, up to `most` clusters.

    >>> levels([-1, 0, 1, 1, 0], [5.0, 2.0, 0.0, 0.0, 0.0], [1, 4])
    {0: (1, 1), 1: (2, 2), 4: (2, 3), 2: (3, 3), 3: (3, 3)}
    """
    parts = children(parent)
    order = [*reversed(_merged(parent, height, parts, cut)), *_split(height, parts, cut, most - len(cut))]
    least, largest = {0: 1}, dict.fromkeys(order, 0)
    for k, node in enumerate(order, 2):  # the split that makes k clusters
        largest[node] = k - 1
        least |= dict.fromkeys(parts[node], k)
    return {node: (k, largest.get(node, len(order) + 1)) for node, k in least.items()}


def _merged(
    parent: Sequence[int], height: Sequence[float], parts: dict[int, list[int]], cut: Iterable[int]
) -> list[int]:
    """The nodes above a cut in the order in which their parts are merged, the least height first."""
    whole = set(cut)
    ready = [(height[node], -node) for node, pair in parts.items() if whole.issuperset(pair)]
    heapq.heapify(ready)
    merged = []
    while ready:
        node = -heapq.heappop(ready)[1]
        merged.append(node)
        whole.add(node)
        if node and whole.issuperset(parts[parent[node]]):
            heapq.heappush(ready, (height[parent[node]], -parent[node]))
    return merged


def _split(height: Sequence[float], parts: dict[int, list[int]], cut: Iterable[int], most: int) -> list[int]:
    """At most so many nodes below a cut, or of it, in the order in which they are split, the largest height first."""
    ready = [(-height[node], node) for node in cut if node in parts]
    heapq.heapify(ready)
    split: list[int] = []
    while ready and len(split) < most:
        node = heapq.heappop(ready)[1]
        split.append(node)
        for part in parts[node]:
            if part in parts:
                heapq.heappush(ready, (-height[part], part))
    return split


def ward(centers: NDArray[Any], sizes: NDArray[Any], groups: NDArray[Any] | None = None) -> Hierarchy:
    """Merge clusters step by step, always the two whose merging adds least to the sum of squared distances.

    With the means of clusters and their sizes, costs are those of all points: the tree is the upper part of the tree
    that Ward's method gives for points that were merged to these clusters first.

    >>> cut_at(ward(np.array([[9.0], [0.0], [1.0]]), np.array([1, 1, 1]), np.array([0, 0, 1])).parent, 2)
    [1, 4]

    Parameters
    ----------
    centers : array (cluster, axis)
        The mean of each cluster.
    sizes : array (cluster,)
        Its number of points, or their weight; above 0.
    groups : array (cluster,), optional
        A number from 0 for each cluster. Clusters of one group are merged before any of different groups, so the groups
        are the nodes of a cut. Merging two groups may then cost less than the last merge within one.
    """
    centers, sizes = centers.astype(np.float64), sizes.astype(np.float64)
    merges, heights = _merge(centers, sizes) if groups is None else _merge_groups(centers, sizes, groups)
    return _numbered(merges, heights, sizes)


def _merge_groups(centers: Reals, sizes: Reals, groups: NDArray[Any]) -> tuple[list[tuple[int, int]], list[float]]:
    """Merges within groups, the least cost first, and then of groups; numbered as by `_merge`."""
    rows = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    parts = [_merge(centers[row], sizes[row]) for row in rows]
    # a merge cannot cost less than those it builds on, but for rounding
    costs = [np.maximum.accumulate(np.array(heights, np.float64)) for _, heights in parts]
    steps = sorted((cost, group, step) for group, of_group in enumerate(costs) for step, cost in enumerate(of_group))
    names = [row.tolist() for row in rows]  # of the clusters of each group: those that are given, then merged ones
    merges: list[tuple[int, int]] = []
    heights: list[float] = []
    for cost, group, step in steps:
        a, b = parts[group][0][step]
        names[group].append(len(centers) + len(merges))
        merges.append((names[group][a], names[group][b]))
        heights.append(float(cost))
    totals = np.array([sizes[row].sum() for row in rows])
    above = [(centers[row] * sizes[row, None]).sum(0) / total for row, total in zip(rows, totals, strict=True)]
    tops = [of_group[-1] for of_group in names]
    for (a, b), cost in zip(*_merge(np.array(above), totals), strict=True):
        tops.append(len(centers) + len(merges))
        merges.append((tops[a], tops[b]))
        heights.append(cost)
    return merges, heights


def _merge(centers: Reals, sizes: Reals) -> tuple[list[tuple[int, int]], list[float]]:
    """Pairs in the order of merging, with their costs; merge number m makes cluster `len(centers) + m`."""
    centers, sizes = centers.copy(), sizes.copy()
    current = list(range(len(centers)))  # the cluster that each row holds now
    costs = np.full((len(centers), len(centers)), np.inf)
    for row in range(1, len(centers)):
        costs[row, :row] = _costs(centers[:row], sizes[:row], centers[row], sizes[row])
    merges: list[tuple[int, int]] = []
    heights: list[float] = []
    for step in range(len(centers) - 1):
        row, kept = divmod(int(costs.argmin()), len(centers))  # kept < row
        merges.append((current[kept], current[row]))
        heights.append(float(costs[row, kept]))
        total = sizes[kept] + sizes[row]
        centers[kept] += (centers[row] - centers[kept]) * (sizes[row] / total)
        sizes[kept], current[kept] = total, len(centers) + step
        costs[row], costs[:, row] = np.inf, np.inf
        new = _costs(centers, sizes, centers[kept], total)
        costs[kept, :kept] = np.where(np.isinf(costs[kept, :kept]), np.inf, new[:kept])
        costs[kept:, kept] = np.where(np.isinf(costs[kept:, kept]), np.inf, new[kept:])
    return merges, heights


def _costs(centers: Reals, sizes: Reals, center: Reals, size: float) -> Reals:
    """What merging each cluster with one of this center and size adds to the sum of squared distances."""
    squares = ((centers - center) ** 2).sum(1)
    costs: Reals = squares * (sizes * size / (sizes + size))
    return costs


def _numbered(merges: list[tuple[int, int]], heights: list[float], sizes: Reals) -> Hierarchy:
    """The tree with its nodes and leaves in order; of two parts the larger one comes first."""
    leaves = len(sizes)
    counts, weights = np.ones(2 * leaves - 1, np.int64), np.concatenate([sizes, np.zeros(leaves - 1)])
    for step, (a, b) in enumerate(merges):
        counts[leaves + step] = counts[a] + counts[b]
        weights[leaves + step] = weights[a] + weights[b]
    start = np.zeros(2 * leaves - 1, np.int64)  # first leaf of each cluster
    above = np.full(2 * leaves - 1, -1, np.int64)
    for step in range(leaves - 2, -1, -1):
        larger, smaller = sorted(merges[step], key=lambda part: (-weights[part], part))
        start[larger] = start[leaves + step]
        start[smaller] = start[leaves + step] + counts[larger]
        above[[larger, smaller]] = leaves + step
    number = np.empty(2 * leaves - 1, np.int64)  # of the node that each cluster is
    number[:leaves] = leaves - 1 + start[:leaves]
    number[leaves:] = np.arange(leaves - 2, -1, -1)
    cluster = np.argsort(number)
    return Hierarchy(
        parent=np.where(above[cluster] < 0, -1, number[above[cluster]]),
        height=np.concatenate([heights[::-1], np.zeros(leaves)]),
        first=start[cluster],
        last=start[cluster] + counts[cluster] - 1,
        order=cluster[leaves - 1 :],
    )


def best_matches(tree: Hierarchy, leaf: NDArray[Any], other: Hierarchy, other_leaf: NDArray[Any]) -> Reals:
    """For each node of a tree the Jaccard index with the most similar node of another tree of the same points.

    Points are given by their leaf in both trees. NaN for nodes without any of these points.

    >>> tree = ward(np.array([[9.0], [0.0], [1.0]]), np.array([1, 1, 1]))
    >>> best_matches(tree, np.array([0, 0, 1, 2]), tree, np.array([0, 1, 1, 2])).round(2).tolist()
    [1.0, 1.0, 0.67, 0.5, 1.0]
    """
    cells = leaf.astype(np.int64) * other.leaves + other_leaf
    table = np.bincount(cells, minlength=tree.leaves * other.leaves).reshape(tree.leaves, other.leaves)
    both = tree.sums(other.sums(table.T).T)  # (node, other node): points in both
    sizes, other_sizes = tree.sums(table.sum(1)), other.sums(table.sum(0))
    either = sizes[:, None] + other_sizes - both
    jaccard: Reals = np.where(sizes > 0, (both / np.maximum(either, 1)).max(1), np.nan)
    return jaccard


def outline(parent: NDArray[Any], first: NDArray[Any], cut: Iterable[int]) -> list[tuple[int, int]]:
    """The nodes above a cut, at it, and one level below it, from the root downwards; each with its depth.

    >>> outline(np.array([-1, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 2]), [1, 4])
    [(0, 0), (1, 1), (2, 2), (3, 2), (4, 1)]
    """
    parts = children(parent)
    ends = {part for node in cut for part in parts.get(node, [])}
    lines, pending = [], [(0, 0)]
    while pending:
        node, depth = pending.pop()
        lines.append((node, depth))
        below = [] if node in ends else sorted(parts.get(node, []), key=lambda part: -first[part])
        pending += [(part, depth + 1) for part in below]
    return lines
