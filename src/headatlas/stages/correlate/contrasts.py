"""The statistics of all maps, each cluster against other maps of the same texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.matched import Contrast, Ranked, contrast
from headatlas.stages.correlate.names import Evidence
from headatlas.stages.correlate.outline import Outline
from headatlas.statistics import COMBINED
from headatlas.wording.thresholds import GROUPS

Array = NDArray[Any]
MAPS, EXAMPLES = 1_000_000, 20_000  # with more maps or examples, a random sample of whole examples is used


@dataclass(frozen=True)
class Statistics:
    """Each statistic of every cluster, and of every node of the outline, against other maps of the same texts."""

    contrasts: dict[str, Contrast]
    examples: int
    nodes: dict[int, list[Evidence]]

    def evidence(self, code: int) -> list[Evidence]:
        """All statistics of one cluster."""
        evidence = []
        for name, of in self.contrasts.items():
            numbers = (of.mean, of.rest, of.delta, of.low, of.high)
            mean, rest, delta, low, high = (float(values[code]) for values in numbers)
            evidence.append(Evidence(name, mean, rest, delta, low, high))
        return evidence


def compared(atlas: Atlas, maps: Coded, outline: Outline, seed: int, draws: int) -> Statistics:
    """Cliff's delta of every statistic and cluster, one statistic at a time, with intervals over texts."""
    names = list(atlas.array("stats").attrs["stats"])
    examples, slots = maps.codes.shape
    most = max(1, min(EXAMPLES, MAPS // slots))
    chosen = np.arange(examples)
    if examples > most:
        chosen = np.sort(np.random.default_rng([seed, 3]).choice(examples, most, replace=False))
    values = read_statistics(atlas, maps, chosen)
    codes, parts = maps.codes[chosen], outline.codes[chosen]
    group = np.unique(maps.group[chosen], return_inverse=True)[1]
    groups = int(group.max()) + 1
    bootstrap = Draws(groups, draws, seed) if groups >= GROUPS else None
    sources = statistic_sources(names)

    def compare(name: str) -> tuple[str, Contrast, list[Evidence]]:
        ranked = Ranked.of(np.where(codes >= 0, combined_statistic(values, *sources[name]), np.nan))
        of_clusters = contrast(ranked, codes, np.eye(maps.kinds), group, bootstrap)
        of_nodes = contrast(ranked, parts, outline.members, None, None)
        return name, of_clusters, outline.evidence(name, ranked, parts, of_nodes)

    done = {name: (of_clusters, rows) for name, of_clusters, rows in parallel.run(compare, list(sources))}
    nodes = {node: [done[name][1][row] for name in sources] for row, node in enumerate(outline.parents)}
    return Statistics({name: done[name][0] for name in sources}, len(chosen), nodes)


def statistic_sources(names: list[str]) -> dict[str, tuple[list[int], list[int]]]:
    """Each statistic, and those made from several, as the indices of statistics that are added and subtracted."""
    sources: dict[str, tuple[list[int], list[int]]] = {name: ([place], []) for place, name in enumerate(names)}
    for name, source in COMBINED.items():
        if {*source.plus, *source.minus} <= {*names}:
            sources[name] = ([names.index(part) for part in source.plus], [names.index(part) for part in source.minus])
    return sources


def combined_statistic(values: Array, plus: list[int], minus: list[int]) -> Array:
    """A statistic (example, slot) from those of which it is the sum or difference."""
    combined: Array = values[plus[0]] if len(plus) == 1 else values[plus].sum(0)
    return combined - values[minus].sum(0) if minus else combined


def read_statistics(atlas: Atlas, maps: Coded, chosen: Array) -> Array:
    """Statistics (statistic, example, slot) of some examples, block by block."""
    values = np.empty((atlas.array("stats").shape[-1], len(chosen), len(maps.layer)), np.float32)
    for rows, part in read_blocks(atlas, "stats"):
        first, last = np.searchsorted(chosen, [rows.start, rows.stop])
        selected = part[chosen[first:last] - rows.start]
        values[:, first:last] = np.moveaxis(selected[:, maps.layer, maps.head], -1, 0)
    return values
