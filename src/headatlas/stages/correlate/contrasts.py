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
from headatlas.statistics import COMBINED

Array = NDArray[Any]
MAPS = 1_000_000  # beyond this many, whole examples drawn with a seed stand for all


@dataclass(frozen=True)
class Statistics:
    """Each statistic of every cluster against the rest, and the mean of each head (slot, statistic)."""

    contrasts: dict[str, Contrast]
    means: Array
    examples: int

    def evidence(self, code: int) -> list[Evidence]:
        """All statistics of one cluster."""
        found = []
        for name, one in self.contrasts.items():
            numbers = (one.mean, one.rest, one.delta, one.low, one.high)
            found.append(Evidence(name, *(float(values[code]) for values in numbers)))
        return found


def compared(atlas: Atlas, maps: Coded, seed: int, draws: int) -> Statistics:
    """Cliff's delta of every statistic and cluster, one statistic at a time, with intervals over texts."""
    names = list(atlas.array("stats").attrs["stats"])
    examples, slots = maps.codes.shape
    most = max(1, MAPS // slots)
    own = np.arange(examples)
    if examples > most:
        own = np.sort(np.random.default_rng([seed, 3]).choice(examples, most, replace=False))
    values = _read(atlas, maps, own, len(names))
    codes = maps.codes[own].ravel()
    group = np.unique(maps.group[own], return_inverse=True)[1]
    how = Draws(int(group.max()) + 1, draws, seed)
    there, each = codes >= 0, np.repeat(group, slots)
    sources = _sources(names)

    def compare(name: str) -> tuple[str, Contrast]:
        plus, minus = sources[name]
        own = values[plus[0]] if len(plus) == 1 else values[plus].sum(0)
        own = own - values[minus].sum(0) if minus else own
        return name, cliffs_delta(own.ravel()[there], codes[there], each[there], maps.kinds, how)

    done = dict(parallel.run(compare, list(sources)))
    found = {name: done[name] for name in sources}
    known = np.isfinite(values)
    sums = np.where(known, values, 0).sum(1, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        means = sums / known.sum(1)
    return Statistics(found, means.T, len(own))


def _sources(names: list[str]) -> dict[str, tuple[list[int], list[int]]]:
    """Each statistic, and those made from several, by the places of what is added and what is subtracted."""
    found: dict[str, tuple[list[int], list[int]]] = {name: ([place], []) for place, name in enumerate(names)}
    for name, source in COMBINED.items():
        if {*source.plus, *source.minus} <= {*names}:
            found[name] = ([names.index(part) for part in source.plus], [names.index(part) for part in source.minus])
    return found


def _read(atlas: Atlas, maps: Coded, own: Array, count: int) -> Array:
    """Statistics (statistic, example, slot) of some examples, block by block."""
    values = np.empty((count, len(own), len(maps.layer)), np.float32)
    for rows, part in read_blocks(atlas, "stats"):
        first, last = np.searchsorted(own, [rows.start, rows.stop])
        chosen = part[own[first:last] - rows.start]
        values[:, first:last] = np.moveaxis(chosen[:, maps.layer, maps.head], -1, 0)
    return values
