"""Names of the nodes of a tree of clusters, from statistics of its parts that are added up to those of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.schema import MISSING
from headatlas.atlas.store import Atlas
from headatlas.atlas.trees import shown_nodes
from headatlas.numeric.hierarchy import children
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.names import FAINT, Evidence, Name, names
from headatlas.statistics import Statistic, statistic
from headatlas.wording import node_name

Array = NDArray[Any]
HOLDS = 0.5  # a phrase must hold for this share of a node's maps


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
        return FAINT, -np.inf
    high = declared.high.bound if declared.high is not None else None
    return (middle if high is None else high), (middle if declared.low.bound is None else declared.low.bound)


@dataclass(frozen=True)
class Outline:
    """The nodes of a tree that get names, and the parts that they consist of."""

    parents: dict[int, int]  # of each node; −1 for the root
    clusters: dict[int, int]  # the clusters that some of them are
    parts: list[int]  # the nodes that contain no other
    members: Array  # (node, part): whether a node, in the order of `parents`, contains a part
    codes: Array  # (example, slot) part of each map; −1: no such map

    def evidence(self, sums: Mapping[str, PartSums]) -> dict[int, list[Evidence]]:
        """Every statistic of each node against all other maps: exactly that of a cluster of its maps."""
        evidence: dict[int, list[Evidence]] = {node: [] for node in self.parents}
        for name, part in sums.items():
            count, total, above = (self.members @ values for values in (part.count, part.total, part.above))
            rest = part.count.sum() - count
            with np.errstate(invalid="ignore", divide="ignore"):
                columns = (total / count, (part.total.sum() - total) / rest, above / (count * rest))
            for node, numbers in zip(self.parents, zip(*columns, strict=True), strict=True):
                mean, others, delta = (float(number) for number in numbers)
                evidence[node].append(Evidence(name, mean, others, delta, np.nan, np.nan))
        return evidence

    def holding(
        self, sums: Mapping[str, PartSums], evidence: Mapping[int, list[Evidence]]
    ) -> dict[int, list[Evidence]]:
        """The same, but nothing is compared (delta is NaN) where a phrase would not hold for most maps of a node."""
        holding: dict[int, list[Evidence]] = {}
        for row, node in enumerate(self.parents):
            holding[node] = []
            for item in evidence[node]:
                part = sums[item.statistic]
                maps = self.members[row] @ (part.high if item.delta > 0 else part.low)
                holds = maps >= HOLDS * (self.members[row] @ part.count)
                holding[node].append(item if holds else replace(item, delta=np.nan))
        return holding


def read_outline(atlas: Atlas, of: str, maps: Coded) -> Outline:
    """The nodes of a tree down to one level below its default cut, and the part that each map is in."""
    nodes = atlas.table("nodes", of)
    rows = nodes.select(["parent", "first_leaf", "last_leaf", "cluster"]).to_pylist()
    shown = [node for node, _ in shown_nodes(nodes)]
    parents = {node: -1 if rows[node]["parent"] is None else int(rows[node]["parent"]) for node in shown}
    parts = [node for node in shown if node not in {*parents.values()}]
    part_of = np.full((len(rows) + 1) // 2 + 1, -1, np.int32)  # the last entry is for maps that do not exist
    for number, node in enumerate(parts):
        part_of[rows[node]["first_leaf"] : rows[node]["last_leaf"] + 1] = number
    first, last = (np.array([rows[node][name] for node in shown]) for name in ("first_leaf", "last_leaf"))
    start = np.array([rows[node]["first_leaf"] for node in parts])
    members = (start >= first[:, None]) & (start <= last[:, None])
    codes = np.empty(maps.codes.shape, np.int32)
    for examples, leaves in read_blocks(atlas, "leaves", of):
        of_heads = leaves[:, maps.layer, maps.head]
        codes[examples.start : examples.stop] = part_of[np.where(of_heads == MISSING, len(part_of) - 1, of_heads)]
    clusters = {node: int(rows[node]["cluster"]) for node in shown if rows[node]["cluster"] is not None}
    return Outline(parents, clusters, parts, members.astype(np.int64), codes)


@dataclass(frozen=True)
class Comparison:
    """The statistic in which a node differs most from its sibling of the same name."""

    statistic: str
    higher: bool
    mean: float
    sibling: float  # mean of the other node


def name_nodes(
    outline: Outline, sums: Mapping[str, PartSums], clusters: Mapping[int, Name]
) -> dict[int, tuple[Name, Comparison | None]]:
    """A name for each node. Nodes that are clusters keep the cluster's name; others are named beside their sibling."""
    evidence = outline.evidence(sums)
    holding = outline.holding(sums, evidence)
    named: dict[int, tuple[Name, Comparison | None]] = {0: (Name((), 1, (), False, 0), None)}
    order = list(outline.parents)
    for pair in children([outline.parents.get(node, -1) for node in range(max(order) + 1)]).values():
        chosen = names({node: holding[node] for node in pair})
        both = {node: replace(chosen[node], ordinal=1) for node in pair}
        both |= {node: clusters[outline.clusters[node]] for node in pair if node in outline.clusters}
        same = len({frozenset(name.phrases) for name in both.values()}) == 1
        for node, other in (pair, pair[::-1]):
            named[node] = both[node], _comparison(evidence[node], evidence[other]) if same else None
    return {node: named[node] for node in order}


def _comparison(evidence: Sequence[Evidence], other: Sequence[Evidence]) -> Comparison | None:
    """The statistic with the largest difference of Cliff's deltas; None if no statistic differs."""
    pairs = [(a, b) for a, b in zip(evidence, other, strict=True) if abs(a.delta - b.delta) > 0]
    if not pairs:
        return None
    a, b = max(pairs, key=lambda pair: abs(pair[0].delta - pair[1].delta))
    return Comparison(a.statistic, a.delta > b.delta, a.mean, b.mean)


def rows_of(outline: Outline, named: Mapping[int, tuple[Name, Comparison | None]]) -> list[dict[str, Any]]:
    """The rows of the table `node_names`."""
    rows = []
    for node, (name, comparison) in named.items():
        differs = (statistic(comparison.statistic).label, comparison.higher) if comparison else None
        rows.append(
            {"node": node, "name": node_name(node, outline.clusters.get(node), name.phrases, name.ordinal, differs),
             "phrases": list(name.phrases), "ordinal": name.ordinal, "named": name.named,
             "reasons": [asdict(reason) for reason in name.reasons],
             "comparison": asdict(comparison) if comparison else None}
        )  # fmt: skip
    return rows
