"""The table of a tree's nodes, and labels of all maps at any cut of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.schema import MISSING, NOISE
from headatlas.atlas.store import Atlas
from headatlas.atlas.trees import node_levels
from headatlas.errors import OptionError
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.forest import Grown

WHOLE, SMALL, REAL = pa.int64(), pa.int32(), pa.float64()
FIELDS = pa.schema(
    {
        "node": SMALL, "parent": SMALL, "height": REAL, "maps": WHOLE, "fitted": WHOLE, "share": REAL,
        "stability": REAL, "low": REAL, "high": REAL, "cut": pa.bool_(), "cluster": SMALL, "first_leaf": SMALL,
        "last_leaf": SMALL,
    }
)  # fmt: skip


def nodes_table(grown: Grown, atlas: Atlas, of: str) -> pa.Table:
    """One row per node; `maps` and `share` are of all labeled maps, `fitted` of those the tree was made from."""
    nodes, stable = grown.tree.nodes, grown.stable
    assert stable is not None
    counts = np.zeros(nodes.leaves, np.int64)
    for _, leaves in read_blocks(atlas, "leaves", of):
        counts += np.bincount(leaves[leaves != MISSING], minlength=len(counts))
    maps, number = nodes.sums(counts), np.full(len(nodes.parent), -1)
    number[list(stable.cut)] = np.arange(len(stable.cut))
    columns: dict[str, Any] = {
        "node": np.arange(len(maps)), "parent": _known(nodes.parent), "maps": maps, "fitted": grown.fitted,
        "height": grown.height, "share": maps / counts.sum(), "stability": stable.of_nodes,
        "low": stable.low, "high": stable.high, "cut": number >= 0, "cluster": _known(number),
        "first_leaf": nodes.first, "last_leaf": nodes.last,
    }  # fmt: skip
    return pa.table({field.name: pa.array(columns[field.name]).cast(field.type) for field in FIELDS}, FIELDS)


def _known(numbers: NDArray[Any]) -> pa.Array:
    """Numbers with null in place of negative ones."""
    return pa.array(numbers, mask=numbers < 0)


def nodes_at(nodes: pa.Table, k: int | None = None) -> list[int]:
    """The nodes that are the clusters of a cut, in the order of their labels: the most fitted maps first.

    Cuts are nested, and the default cut is one of them: coarser ones merge the two most similar parts of it step by
    step, finer ones split the node whose parts differ most.

    Parameters
    ----------
    nodes : pyarrow.Table
        The table `nodes` of a clustering by method `tree`.
    k : int, optional
        Number of clusters; those of the default cut if not given.
    """
    fitted, first = nodes["fitted"].to_pylist(), nodes["first_leaf"].to_pylist()
    most = (nodes.num_rows + 1) // 2
    if k is not None and not 1 <= k <= most:
        raise OptionError(f"k {k}: the tree has {most} leaves. Choose a number from 1 to {most}")
    if k is None:
        cut = np.flatnonzero(nodes["cut"]).tolist()
    else:
        cut = [node for node, (least, largest) in node_levels(nodes, most).items() if least <= k <= largest]
    return sorted(cut, key=lambda node: (-fitted[node], first[node]))


def labels_at(nodes: pa.Table, leaves: NDArray[Any], cut: int | Sequence[int] | None = None) -> Labels:
    """Labels of maps at another cut of a tree, from what is stored.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://levels.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> labels = ha.cluster.tree(atlas, k=6)
    >>> coarse = ha.cluster.labels_at(atlas.table("nodes"), atlas.read("leaves"), 3)
    >>> coarse.shape, int(coarse.max())
    ((2, 6, 12), 2)

    Parameters
    ----------
    nodes : pyarrow.Table
        The table `nodes` of a clustering by method `tree`.
    leaves : array of int
        The array `leaves` of the same clustering, or a part of it.
    cut : int or sequence of int, optional
        Number of clusters; or the nodes that are clusters, of which none may contain another. The default cut if not
        given, whose labels are those of the clustering.

    Returns
    -------
    labels : array like `leaves`
        0 is the cluster with the most fitted maps, or the first of the given nodes; -1 are maps of none of the given
        nodes, -2 is a head that does not exist.
    """
    chosen = nodes_at(nodes, cut) if cut is None or isinstance(cut, int) else list(cut)
    first, last = (nodes[name].to_numpy() for name in ("first_leaf", "last_leaf"))
    label = np.full((nodes.num_rows + 1) // 2 + 1, NOISE, np.int32)
    label[-1] = MISSING
    for number, node in enumerate(chosen):
        if not 0 <= node < nodes.num_rows:
            raise OptionError(f"node {node}: the tree has nodes 0 to {nodes.num_rows - 1}")
        part = label[first[node] : last[node] + 1]
        if (part != NOISE).any():
            other = chosen[int(part[part != NOISE][0])]
            raise OptionError(f"nodes {other} and {node}: one contains the other. Choose nodes that share no maps")
        part[:] = number
    labels: Labels = label[np.where(leaves == MISSING, len(label) - 1, leaves)]
    return labels
