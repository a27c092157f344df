"""The tree of a clustering from its stored tables: its levels, the mean maps of its nodes, and the tree as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema, summaries
from headatlas.atlas.blocks import read_blocks
from headatlas.numeric.hierarchy import LEVELS, levels, outline
from headatlas.wording import node_line, node_name, part_name

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas


def node_levels(nodes: pa.Table, most: int = LEVELS) -> dict[int, tuple[int, int]]:
    """For each node of the table `nodes` that is in some cut, the least and the largest number of clusters of it."""
    return levels(
        nodes["parent"].fill_null(-1).to_pylist(),
        nodes["height"].to_pylist(),
        np.flatnonzero(nodes["cut"].to_numpy()).tolist(),
        most,
    )


def node_maps(atlas: Atlas, of: str) -> NDArray[np.float64]:
    """Mean pooled map (node, r, r) of each node that is in some cut, in the order of `node_levels`.

    The nodes of the finest cut are averaged; larger ones are put together from these by their numbers of maps.
    """
    nodes = atlas.table("nodes", of)
    rows, ranges = nodes.to_pylist(), node_levels(nodes)
    finest = max(largest for _, largest in ranges.values())
    parts = sorted((node for node in ranges if ranges[node][1] == finest), key=lambda node: rows[node]["first_leaf"])
    first, last, maps = (np.array([row[name] for row in rows]) for name in ("first_leaf", "last_leaf", "maps"))
    group = np.full(-schema.MISSING + (len(rows) + 1) // 2, -1)
    for place, node in enumerate(parts):
        group[first[node] - schema.MISSING : last[node] - schema.MISSING + 1] = place
    means = np.nan_to_num(summaries.group_maps(atlas, "leaves", of, group, len(parts)))
    inside = (first[parts] >= first[[*ranges], None]) & (last[parts] <= last[[*ranges], None])  # (node, part)
    weights = inside * maps[parts]
    averages: NDArray[np.float64] = np.einsum("np,pqk->nqk", weights / weights.sum(1, keepdims=True), means)
    return averages


def layer_counts(atlas: Atlas, of: str) -> NDArray[np.int64]:
    """Maps of each leaf in each layer, (leaf, layer), counted block by block."""
    layers = atlas.array("leaves", of).shape[1]
    counts = np.zeros(((atlas.table("nodes", of).num_rows + 1) // 2, layers), np.int64)
    for _, leaves in read_blocks(atlas, "leaves", of):
        present = leaves != schema.MISSING
        cells = leaves[present].astype(np.int64) * layers + np.nonzero(present)[1]
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
    return counts


def node_names(atlas: Atlas, of: str) -> dict[int, str]:
    """A name for each node that is in some cut: its own, or that it is part of the nearest node that has one."""
    nodes, named = atlas.table("nodes", of), named_nodes(atlas, of)
    parent, cluster = nodes["parent"].to_pylist(), nodes["cluster"].to_pylist()

    def name(node: int) -> str:
        if not named:
            return node_name(node, cluster[node], None)
        above = node
        while above not in named:
            above = parent[above]  # the root has a name
        return str(named[node]["name"]) if above == node else part_name(named[above]["name"])

    return {node: name(node) for node in node_levels(nodes)}


def named_nodes(atlas: Atlas, of: str) -> dict[int, dict[str, Any]]:
    """The rows of the table `node_names` by node; none if the clustering is not correlated."""
    if of not in atlas.results("correlate") or not atlas.has_table("node_names", of):
        return {}
    return {row["node"]: row for row in atlas.table("node_names", of).to_pylist()}


def shown_nodes(nodes: pa.Table) -> list[tuple[int, int]]:
    """Nodes of the table `nodes` down to one level below the default cut, each with its depth."""
    parent = nodes["parent"].fill_null(-1).to_numpy()
    return outline(parent, nodes["first_leaf"].to_numpy(), np.flatnonzero(nodes["cut"].to_numpy()).tolist())


def tree_text(atlas: Atlas, of: str) -> str:
    """The tree of a clustering, one line per node, indented; with names if it was correlated."""
    nodes = atlas.table("nodes", of)
    rows = nodes.to_pylist()
    names = {node: row["name"] for node, row in named_nodes(atlas, of).items()}
    lines = []
    for node, depth in shown_nodes(nodes):
        if names and node not in names:  # too fine to have a name
            continue
        row = rows[node]
        name = names.get(node) or node_name(node, row["cluster"], None)
        lines.append(node_line(depth, name, row["cluster"], row["share"], row["stability"]))
    return "\n".join(lines)
