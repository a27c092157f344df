"""The tree of clusters in words: what a node is called, and its line in an outline."""

from __future__ import annotations

from headatlas.wording.clusters import cluster_name, stability_word
from headatlas.wording.numbers import percent, ratio

ROOT = "all maps"


def node_name(node: int, cluster: int | None, name: str | None) -> str:
    """What a node is called; before correlate (`name` is None) by its number, or that of the cluster it is.

    >>> node_name(0, None, "mixed"), node_name(7, None, None), node_name(7, 2, None), node_name(7, 2, "previous token")
    ('all maps', 'node 7', 'cluster 2', 'previous token')
    """
    if node == 0:
        return ROOT
    if name is None:
        return f"node {node}" if cluster is None else cluster_name(cluster, None)
    return name


def part_name(name: str) -> str:
    """What a node without a name is called, by the name of the nearest node above it that has one.

    >>> part_name("previous token")
    'part of previous token'
    """
    return f"part of {name}"


def node_line(depth: int, name: str, cluster: int | None, share: float, stability: float | None) -> str:
    """A node in an outline of the tree; clusters of the default cut are marked by their number.

    >>> node_line(1, "broad", 2, 0.124, 0.93), node_line(0, "all maps", None, 1.0, None)
    ('  [2] broad: 12%, stable (0.93)', 'all maps: 100%')
    """
    mark = "" if cluster is None else f"[{cluster}] "
    word = "" if stability is None or depth == 0 else f", {stability_word(stability)} ({ratio(stability)})"
    return f"{'  ' * depth}{mark}{name}: {percent(share)}{word}"
