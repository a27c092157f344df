"""What gets a name, clusters or the nodes of a tree, and the parts that these consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.numeric.hierarchy import levels
from headatlas.sources import Beyond, Columns
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.matched import Contrast, Ranked
from headatlas.stages.correlate.names import EXCESS, FAINT, Evidence
from headatlas.statistics import Statistic, statistic

Array = NDArray[Any]
HOLDS = 0.5  # a phrase must hold for this share of a node's maps, and of the maps of both of its parts …
LARGE = 1 / 3  # … but a part with a smaller share of the node's maps may differ


def _bounds(declared: Statistic, values: Array) -> tuple[float, float]:
    """The least value for which the phrase for high values holds, and the largest for that for low ones."""
    middle = float(np.median(values)) if len(values) else 0.0
    if declared.low is None:  # the mass on some kind of token
        return (EXCESS if isinstance(declared.source, Beyond | Columns) else FAINT), -np.inf
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

    def evidence(self, name: str, ranked: Ranked, parts: Array, contrast: Contrast) -> list[Evidence]:
        """A statistic of each node, and whether its phrase holds for most of the maps."""
        signs = contrast.delta if statistic(name).low is not None else np.ones(len(self.parents))
        fits = self._fits(name, ranked.values.reshape(parts.shape), parts, signs)
        columns = zip(contrast.mean.tolist(), contrast.rest.tolist(), contrast.delta.tolist(), fits, strict=True)
        return [Evidence(name, mean, rest, delta, np.nan, np.nan, bool(fit)) for mean, rest, delta, fit in columns]

    def _fits(self, name: str, values: Array, parts: Array, sign: Array) -> Array:
        """Whether the phrase for high or low values holds for most maps of each node and of its large parts."""
        known = np.isfinite(values) & (parts >= 0)
        values, part = values[known], parts[known]
        least, most = _bounds(statistic(name), values)
        count, high, low = (
            self.members @ np.bincount(part[chosen], minlength=self.parts)
            for chosen in (slice(None), values >= least, values <= most)
        )
        holds = {True: high >= HOLDS * count, False: low >= HOLDS * count}
        row = {node: place for place, node in enumerate(self.parents)}
        fits = np.where(sign > 0, holds[True], holds[False])
        for node, parent in self.parents.items():
            if parent in row and count[row[node]] >= LARGE * count[row[parent]]:
                fits[row[parent]] &= holds[bool(sign[row[parent]] > 0)][row[node]]
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
