"""The statistics in which a head differs most between the values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.correlate.contrasts import combined_statistic, statistic_sources
from headatlas.stages.correlate.design import Design
from headatlas.statistics import statistic

Array = NDArray[Any]
MOST = 3


@dataclass(frozen=True)
class Difference:
    """A statistic of a head: its mean for each value, and how far these spread.

    `spread` is the standard deviation of the means, minus those of the mean head on the same texts, in standard
    deviations of all maps. So it leaves out what the text alone changes: in a text of one sentence, every head attends
    within the sentence.
    """

    statistic: str
    spread: float
    means: tuple[float, ...]


def differences(values: Array, names: Sequence[str], designs: Sequence[Design]) -> list[list[list[Difference]]]:
    """The statistics that differ most (column, slot, rank), at most one of each group, since those overlap.

    Statistics that grow with the length of a text are left out: they would differ wherever lengths do. `values` are
    (statistic, row, slot), NaN where undefined.
    """
    sources = {name: source for name, source in statistic_sources(list(names)).items() if not statistic(name).grows}
    combined = {name: combined_statistic(values, *source) for name, source in sources.items()}
    return [_of_column(combined, design) for design in designs]


def _of_column(combined: dict[str, Array], design: Design) -> list[list[Difference]]:
    member = np.eye(design.kinds)[design.codes]  # (row, value)
    spreads, means = [], []
    for values in combined.values():
        value_means, _ = _means(values[design.rows], member)
        special = values - _mean_head(values)
        known = special[np.isfinite(special)]
        scale = float(known.std(dtype=np.float64)) if len(known) else 0.0
        spreads.append(_spread(*_means(special[design.rows], member), scale))
        means.append(value_means)
    ranked = np.argsort(-np.nan_to_num(np.array(spreads), nan=-1.0), axis=0, kind="stable")  # (rank, slot)
    names, groups = list(combined), [statistic(name).group for name in combined]
    result = []
    for slot in range(ranked.shape[1]):
        best: dict[str, Difference] = {}
        for place in ranked[:, slot]:
            if len(best) == MOST or not spreads[place][slot] > 0:
                break
            numbers = tuple(float(mean) for mean in means[place][:, slot])
            best.setdefault(groups[place], Difference(names[place], float(spreads[place][slot]), numbers))
        result.append(list(best.values()))
    return result


def _mean_head(values: Array) -> Array:
    """The mean (row, 1) over the heads that have a value."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Array = np.where(known, values, 0).sum(1, keepdims=True, dtype=np.float64) / known.sum(1, keepdims=True)
    return mean


def _means(values: Array, member: Array) -> tuple[Array, Array]:
    """Means and counts (value, slot) of a statistic (row, slot)."""
    known = np.isfinite(values)
    counts = member.T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        return member.T @ np.where(known, values, 0) / counts, counts


def _spread(means: Array, counts: Array, scale: float) -> Array:
    """The standard deviation (slot,) of means, weighted by their counts."""
    if scale <= 0:
        return np.full(means.shape[1], np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(means * counts, 0) / counts.sum(0)
        variance = np.nansum(counts * (means - mean) ** 2, 0) / counts.sum(0)
    spread: Array = np.sqrt(variance) / scale
    return spread
