"""The statistics of all maps, each cluster against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.effect import Contrast, Draws, cliffs_delta
from headatlas.stages.correlate.names import Evidence
from headatlas.stages.correlate.outline import Outline, PartSums, part_sums
from headatlas.statistics import COMBINED
from headatlas.wording.thresholds import GROUPS

Array = NDArray[Any]
MAPS = 1_000_000  # with more maps, a random sample of whole examples is used


@dataclass(frozen=True)
class Statistics:
    """Each statistic of every cluster against the rest."""

    contrasts: dict[str, Contrast]
    examples: int
    parts: dict[str, PartSums]  # sums over the parts of the outline

    def evidence(self, code: int) -> list[Evidence]:
        """All statistics of one cluster."""
        evidence = []
        for name, contrast in self.contrasts.items():
            numbers = (contrast.mean, contrast.rest, contrast.delta, contrast.low, contrast.high)
            mean, rest, delta, low, high = (float(values[code]) for values in numbers)
            evidence.append(Evidence(name, mean, rest, delta, low, high))
        return evidence


def compared(atlas: Atlas, maps: Coded, outline: Outline, seed: int, draws: int) -> Statistics:
    """Cliff's delta of every statistic and cluster, one statistic at a time, with intervals over texts.

    Statistics are also summed over the parts of the outline.
    """
    names = list(atlas.array("stats").attrs["stats"])
    examples, slots = maps.codes.shape
    most = max(1, MAPS // slots)
    chosen = np.arange(examples)
    if examples > most:
        chosen = np.sort(np.random.default_rng([seed, 3]).choice(examples, most, replace=False))
    values = read_statistics(atlas, maps, chosen)
    codes = maps.codes[chosen].ravel()
    group = np.unique(maps.group[chosen], return_inverse=True)[1]
    groups = int(group.max()) + 1
    bootstrap = Draws(groups, draws, seed) if groups >= GROUPS else None
    present, group_of_map = codes >= 0, np.repeat(group, slots)
    parts = outline.codes[chosen].ravel()
    sources = statistic_sources(names)

    def compare(name: str) -> tuple[str, Contrast, PartSums]:
        combined = combined_statistic(values, *sources[name])
        compared_maps = (combined.ravel()[present], codes[present], group_of_map[present])
        contrast = cliffs_delta(*compared_maps, maps.kinds, bootstrap)
        return name, contrast, part_sums(name, combined.ravel(), parts, outline.parts)

    done = {name: (contrast, sums) for name, contrast, sums in parallel.run(compare, list(sources))}
    contrasts, sums = {name: done[name][0] for name in sources}, {name: done[name][1] for name in sources}
    return Statistics(contrasts, len(chosen), sums)


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
