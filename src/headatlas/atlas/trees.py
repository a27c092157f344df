"""The tree of a clustering as text, from its stored tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headatlas.numeric.hierarchy import outline
from headatlas.wording import node_line, node_name

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas


def shown_nodes(nodes: pa.Table) -> list[tuple[int, int]]:
    """Nodes of the table `nodes` down to one level below the default cut, each with its depth."""
    parent = nodes["parent"].fill_null(-1).to_numpy()
    return outline(parent, nodes["first_leaf"].to_numpy(), np.flatnonzero(nodes["cut"].to_numpy()).tolist())


def tree_text(atlas: Atlas, of: str) -> str:
    """The tree of a clustering, one line per node, indented; with names if it was correlated."""
    nodes = atlas.table("nodes", of)
    rows = nodes.to_pylist()
    names = {}
    if of in atlas.results("correlate") and atlas.has_table("node_names", of):
        names = {row["node"]: row["name"] for row in atlas.table("node_names", of).to_pylist()}
    lines = []
    for node, depth in shown_nodes(nodes):
        row = rows[node]
        name = names.get(node) or node_name(node, row["cluster"], None)
        lines.append(node_line(depth, name, row["cluster"], row["share"], row["stability"]))
    return "\n".join(lines)
