"""The tree of clusters in words: what a node is called, and its line in an outline."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.wording.clusters import cluster_name, stability_word
from headatlas.wording.numbers import percent, ratio

ROOT = "all maps"


def node_name(
    node: int,
    cluster: int | None,
    phrases: Sequence[str] | None,
    ordinal: int = 1,
    differs: tuple[str, bool] | None = None,
) -> str:
    """What a node is called; before correlate (`phrases` is None) by its number, or that of the cluster it is.

    `differs` is the statistic, in words, that tells a node from its sibling of the same name, and whether it is higher.

    >>> node_name(0, None, []), node_name(7, None, None), node_name(7, 2, None)
    ('all maps', 'node 7', 'cluster 2')
    >>> node_name(7, 2, ["broad"], 3), node_name(8, None, ["broad"], 1, ("largest weight", False))
    ('broad 3', 'broad, lower largest weight')
    """
    if node == 0:
        return ROOT
    if phrases is None:
        return f"node {node}" if cluster is None else cluster_name(cluster, None)
    if differs is None:
        return cluster_name(0, phrases, ordinal)
    return f"{cluster_name(0, phrases)}, {'higher' if differs[1] else 'lower'} {differs[0]}"


def node_line(depth: int, name: str, cluster: int | None, share: float, stability: float | None) -> str:
    """A node in an outline of the tree; clusters of the default cut are marked by their number.

    >>> node_line(1, "broad", 2, 0.124, 0.93), node_line(0, "all maps", None, 1.0, None)
    ('  [2] broad: 12%, stable (0.93)', 'all maps: 100%')
    """
    mark = "" if cluster is None else f"[{cluster}] "
    word = "" if stability is None or depth == 0 else f", {stability_word(stability)} ({ratio(stability)})"
    return f"{'  ' * depth}{mark}{name}: {percent(share)}{word}"
