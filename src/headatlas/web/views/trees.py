"""The tree of a clustering: its nodes with their levels, their mean maps, and a sentence for each level."""

from __future__ import annotations

from typing import Any

import numpy as np

from headatlas.atlas import summaries, trees
from headatlas.statistics import statistic
from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.clusters import Reason
from headatlas.web.api.payloads.trees import NodeRow, Tree
from headatlas.web.views import columns
from headatlas.web.views.clusters import distinction
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known

Levels = dict[int, tuple[int, int]]


def tree(snapshot: Snapshot, clustering: str) -> Tree:
    """Every node of a tree that is a pattern at some level."""
    _check(snapshot, clustering)
    rows, levels = snapshot.atlas.table("nodes", clustering).to_pylist(), _levels(snapshot, clustering)
    names, named = trees.node_names(snapshot.atlas, clustering), trees.named_nodes(snapshot.atlas, clustering)
    clusters = columns.cluster_names(snapshot, clustering)
    names |= {node: clusters[rows[node]["cluster"]] for node in names if rows[node]["cluster"] is not None}
    nodes = [_node(rows[node], names[node], named.get(node), levels[node]) for node in levels]
    return Tree(
        clustering=clustering,
        leaves=columns.leaves_column(clustering),
        default=sum(row["cut"] for row in rows),
        nodes=nodes,
        sentences=_sentences(snapshot, clustering, nodes),
    )


def means(snapshot: Snapshot, clustering: str) -> bytes:
    """The mean map of each node, in the order of `Tree.nodes`."""
    _check(snapshot, clustering)
    return arrays.attention(trees.node_maps(snapshot.atlas, clustering)).tobytes()


def finest_level(snapshot: Snapshot, clustering: str) -> int | None:
    """The number of patterns at the finest level; None if the clustering is not a tree."""
    if not is_tree(snapshot, clustering):
        return None
    return max(finest for _, finest in _levels(snapshot, clustering).values())


def is_tree(snapshot: Snapshot, clustering: str) -> bool:
    """Whether a clustering was made from a tree."""
    return snapshot.atlas.has_table("nodes", clustering)


def _check(snapshot: Snapshot, clustering: str) -> None:
    snapshot.result("cluster", clustering, "clustering")
    if not is_tree(snapshot, clustering):
        raise RequestError(404, f"The clustering {clustering} is not a tree: it has one level only.")


def _levels(snapshot: Snapshot, clustering: str) -> Levels:
    return snapshot.cached(("levels", clustering), lambda: trees.node_levels(snapshot.atlas.table("nodes", clustering)))


def _node(row: dict[str, Any], name: str, named: dict[str, Any] | None, level: tuple[int, int]) -> NodeRow:
    reasons = named["reasons"] if named else []
    return NodeRow(
        node=row["node"],
        parent=row["parent"],
        cluster=row["cluster"],
        name=name,
        phrases=named["phrases"] if named else None,
        reasons=[_reason(reason) for reason in reasons],
        named=bool(named and named["named"]),
        distinction=distinction(named["distinction"]) if named else None,
        maps=row["maps"],
        share=row["share"],
        stability=known(row["stability"]),
        low=known(row["low"]),
        high=known(row["high"]),
        coarsest=level[0],
        finest=level[1],
        first_leaf=row["first_leaf"],
        last_leaf=row["last_leaf"],
    )


def _reason(reason: dict[str, Any]) -> Reason:
    numbers = {name: known(reason[name]) for name in ("mean", "rest", "delta", "low", "high")}
    return Reason(statistic=reason["statistic"], plain=statistic(reason["statistic"]).label, **numbers)


def _sentences(snapshot: Snapshot, clustering: str, nodes: list[NodeRow]) -> list[str]:
    """What there is at each level, in a sentence."""
    counts = trees.layer_counts(snapshot.atlas, clustering)
    sentences = []
    for level in range(1, max(node.finest for node in nodes) + 1):
        cut = [node for node in nodes if node.coarsest <= level <= node.finest]
        cut.sort(key=lambda node: (-node.maps, node.node if node.cluster is None else node.cluster))
        patterns = [summaries.Cluster(node.node, node.name, node.maps, node.share, node.stability) for node in cut]
        layers = counts[cut[0].first_leaf : cut[0].last_leaf + 1].sum(0, dtype=np.int64)
        sentences.append(f"{summaries.patterns_sentence(patterns, layers)}.")
    return sentences
