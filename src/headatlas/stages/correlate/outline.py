"""What gets a name, clusters or the nodes of a tree, and sums over the parts that these consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.numeric.hierarchy import levels
from headatlas.sources import Beyond
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.names import EXCESS, FAINT, Evidence
from headatlas.statistics import Statistic, statistic

Array = NDArray[Any]
HOLDS = 0.5  # a phrase must hold for this share of a node's maps, and of the maps of both of its parts


@dataclass(frozen=True)
class PartSums:
    """A statistic of the maps of each part; every entry of a node is the sum of those of its parts."""

    count: Array  # maps with a value
    total: Array  # sum of their values
    above: Array  # maps of all parts with a lower value minus those with a higher one, summed over its maps
    high: Array  # maps for which the phrase for high values holds
    low: Array  # maps for which the phrase for low values holds


def part_sums(name: str, values: Array, parts: Array, count: int) -> PartSums:
    """Sums of one statistic over the maps of each of `count` parts."""
    from scipy.stats import rankdata

    known = np.isfinite(values) & (parts >= 0)
    values, parts = values[known].astype(np.float64), parts[known]
    above = 2 * rankdata(values) - (len(values) + 1)
    least, most = _bounds(statistic(name), values)

    def added(weights: Array) -> Array:
        return np.bincount(parts, weights, count)

    return PartSums(
        np.bincount(parts, minlength=count), added(values), added(above), added(values >= least), added(values <= most)
    )


def _bounds(declared: Statistic, values: Array) -> tuple[float, float]:
    """The least value for which the phrase for high values holds, and the largest for that for low ones."""
    middle = float(np.median(values)) if len(values) else 0.0
    if declared.low is None:  # the mass on some kind of token
        return (EXCESS if isinstance(declared.source, Beyond) else FAINT), -np.inf
    high = declared.high.bound if declared.high is not None else None
    return (middle if high is None else high), (middle if declared.low.bound is None else declared.low.bound)


@dataclass(frozen=True)
class Outline:
    """What gets a name, in order of importance, and the parts that it consists of.

    Nodes of a tree, or the clusters of a clustering without one: these are called by the number of the cluster, each is
    a part, and all are at level 0.
    """

    parents: dict[int, int]  # of each node; −1 for none
    levels: dict[int, tuple[int, int]]  # the least and the largest number of clusters where each is a cluster
    clusters: dict[int, int]  # the clusters that some of them are
    members: Array  # (node, part): whether a node contains a part
    codes: Array  # (example, slot) part of each map; −1: no such map

    @property
    def parts(self) -> int:
        """Number of parts."""
        return int(self.members.shape[1])

    def evidence(self, sums: Mapping[str, PartSums]) -> dict[int, list[Evidence]]:
        """Every statistic of each node against all other maps, and whether its phrase holds for most of the maps."""
        evidence: dict[int, list[Evidence]] = {node: [] for node in self.parents}
        for name, part in sums.items():
            count, total, above = (self.members @ values for values in (part.count, part.total, part.above))
            rest = part.count.sum() - count
            with np.errstate(invalid="ignore", divide="ignore"):
                columns = (total / count, (part.total.sum() - total) / rest, above / (count * rest))
            fits = self._fits(part, columns[2])
            for row, node in enumerate(self.parents):
                mean, others, delta = (float(numbers[row]) for numbers in columns)
                evidence[node].append(Evidence(name, mean, others, delta, np.nan, np.nan, bool(fits[row])))
        return evidence

    def _fits(self, part: PartSums, delta: Array) -> Array:
        """Whether the phrase for high or low values holds for most maps of each node and of both of its parts."""
        count, high, low = (self.members @ values for values in (part.count, part.high, part.low))
        holds = {True: high >= HOLDS * count, False: low >= HOLDS * count}
        row = {node: place for place, node in enumerate(self.parents)}
        fits = np.where(delta > 0, holds[True], holds[False])
        for node, parent in self.parents.items():
            if parent in row:
                fits[row[parent]] &= holds[bool(delta[row[parent]] > 0)][row[node]]
        return fits


def read_outline(atlas: Atlas, of: str, maps: Coded, order: list[int]) -> Outline:
    """The outline of a clustering; `order` are the codes of its clusters in order of importance."""
    if atlas.has_table("nodes", of):
        return _tree(atlas, of, maps)
    codes = [code for code in order if maps.clusters[code] != schema.NOISE]
    clusters = [int(maps.clusters[code]) for code in codes]
    return Outline(
        parents=dict.fromkeys(clusters, -1),
        levels=dict.fromkeys(clusters, (0, 0)),
        clusters={cluster: cluster for cluster in clusters},
        members=np.eye(maps.kinds, dtype=np.int64)[codes],
        codes=maps.codes,
    )


def _tree(atlas: Atlas, of: str, maps: Coded) -> Outline:
    """All nodes that are clusters at some level of detail, the coarsest first, and the part that each map is in."""
    rows = atlas.table("nodes", of).to_pylist()
    parent = [-1 if row["parent"] is None else int(row["parent"]) for row in rows]
    cut = [node for node, row in enumerate(rows) if row["cut"]]
    at = levels(parent, [row["height"] for row in rows], cut)
    nodes = sorted(at, key=lambda node: (at[node], node))
    inner = {parent[node] for node in nodes}
    parts = [node for node in nodes if node not in inner]
    part_of = np.full((len(rows) + 1) // 2 + 1, -1, np.int32)  # the last entry is for maps that do not exist
    for number, node in enumerate(parts):
        part_of[rows[node]["first_leaf"] : rows[node]["last_leaf"] + 1] = number
    first, last = (np.array([rows[node][name] for node in nodes]) for name in ("first_leaf", "last_leaf"))
    start = np.array([rows[node]["first_leaf"] for node in parts])
    members = (start >= first[:, None]) & (start <= last[:, None])
    codes = np.empty(maps.codes.shape, np.int32)
    for examples, leaves in read_blocks(atlas, "leaves", of):
        of_heads = leaves[:, maps.layer, maps.head]
        missing = of_heads == schema.MISSING
        codes[examples.start : examples.stop] = part_of[np.where(missing, len(part_of) - 1, of_heads)]
    clusters = {node: int(rows[node]["cluster"]) for node in cut}
    return Outline({node: parent[node] for node in nodes}, at, clusters, members.astype(np.int64), codes)
