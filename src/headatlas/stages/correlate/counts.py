"""Labels of all maps as a table of small numbers (example, slot), and the tables of counts made from it.

A slot is a head that exists: layers with fewer heads have fewer slots. A code is the place of a cluster in the list of
clusters, noise last; -1 marks a map that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError
from headatlas.stages.correlate.shuffle import weighted_heads

Array = NDArray[Any]


@dataclass(frozen=True)
class Coded:
    """What is counted: the code of every map, what codes and slots stand for, and which examples have one source."""

    codes: Array  # (example, slot) int16; -1: no such map
    clusters: Array  # (code,) number of the cluster; noise, -1, last
    layer: Array  # (slot,)
    head: Array  # (slot,)
    group: Array  # (example,) examples that have one source, such as windows of one text, have one number

    @property
    def kinds(self) -> int:
        """Number of codes."""
        return len(self.clusters)

    @property
    def grouped(self) -> bool:
        """Whether a group has more than one example."""
        return int(self.group.max()) + 1 < len(self.group)

    def heads(self) -> Array:
        """Counts (slot, code)."""
        counts: Array = weighted_heads(self.codes, np.ones(len(self.codes), np.int64), self.kinds)
        return counts

    def examples(self) -> Array:
        """Counts (example, code)."""
        counts = np.zeros((len(self.codes), self.kinds), np.int64)
        for code in range(self.kinds):
            counts[:, code] = (self.codes == code).sum(1)
        return counts

    def by_layer(self, table: Array) -> Array:
        """Counts of slots (…, slot, code) summed to layers (…, layer, code)."""
        layers = np.unique(self.layer)
        return np.stack([table[..., self.layer == layer, :].sum(-2) for layer in layers], -2)


def coded(labels: Array, group: Array | None = None) -> Coded:
    """Labels (example, layer, head) as codes; examples of one `group` belong together (default: none do)."""
    examples, layers, heads = labels.shape
    flat = labels.reshape(examples, layers * heads)
    present = np.flatnonzero((flat != schema.MISSING).any(0))
    flat = flat[:, present]
    clusters = np.unique(flat)
    clusters = clusters[clusters >= schema.NOISE]
    if len(clusters) == 0:
        raise DataError("no map has a label: nothing can be correlated. Cluster features that are not all NaN")
    if clusters[0] == schema.NOISE:
        clusters = np.roll(clusters, -1)
    codes = np.full(flat.shape, -1, np.int16)
    for code, cluster in enumerate(clusters):
        codes[flat == cluster] = code
    layer, head = np.divmod(present, heads)
    groups = np.arange(examples) if group is None else np.unique(group, return_inverse=True)[1]
    return Coded(codes, clusters, layer, head, groups)


def one_example(all_maps: Coded) -> Coded:
    """The same with one label per head, for clusterings of heads, which have the same labels in every example."""
    counts = all_maps.heads()
    codes = np.where(counts.sum(1) > 0, counts.argmax(1), -1).astype(np.int16)[None]
    return Coded(codes, all_maps.clusters, all_maps.layer, all_maps.head, np.zeros(1, np.int64))


def read(atlas: Atlas, of: str, group: Array) -> Coded:
    """The labels of a clustering, and the group of each example."""
    parts = [labels.astype(np.int16) for _, labels in read_blocks(atlas, "labels", of)]
    return coded(np.concatenate(parts), group)


def null_heads(codes: Array, kinds: int) -> tuple[Array, Array]:
    """Mean and variance (slot, code) of counts when the labels of each example are shuffled over its heads: exact."""
    share, present = _shares(codes, kinds)
    return present.T @ share, present.T @ (share * (1 - share))


def null_layers(codes: Array, kinds: int, layer: Array) -> tuple[Array, Array]:
    """The same for layers (layer, code): sums of hypergeometric counts, since shuffling draws without replacement."""
    share, present = _shares(codes, kinds)
    size = np.stack([present[:, layer == index].sum(1) for index in np.unique(layer)])  # (layer, example)
    maps = present.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.nan_to_num((maps - size) / (maps - 1))
    return size @ share, (size * left) @ (share * (1 - share))


def grouped_spread(maps: Coded) -> tuple[Array, Array]:
    """What one head's counts (code,) vary by when all examples of a group are shuffled over heads in the same way.

    The variance, and the sum over groups of the squared range, by which Hoeffding bounds how far a sum can get.
    """
    order = np.argsort(maps.group, kind="stable")
    starts = np.flatnonzero(np.diff(maps.group[order], prepend=-1))
    variance, squared_range = np.zeros(maps.kinds), np.zeros(maps.kinds)
    for code in range(maps.kinds):
        counts = np.add.reduceat((maps.codes[order] == code).astype(np.int32), starts, 0)  # (group, slot)
        variance[code] = counts.var(1).sum()
        squared_range[code] = (np.ptp(counts, 1).astype(np.float64) ** 2).sum()
    return variance, squared_range


def _shares(codes: Array, kinds: int) -> tuple[Array, Array]:
    present = (codes >= 0).astype(np.float64)
    counts = np.stack([(codes == code).sum(1) for code in range(kinds)], 1)
    return counts / np.maximum(present.sum(1, keepdims=True), 1), present
