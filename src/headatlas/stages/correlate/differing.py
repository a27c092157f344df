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
    """A statistic of a head: its mean for each value, and how far these spread in standard deviations of all maps."""

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
        spread, value_means = _compare(values, values[design.rows], member)
        spreads.append(spread)
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


def _compare(everywhere: Array, values: Array, member: Array) -> tuple[Array, Array]:
    """The spread (slot,) of the means (value, slot) of one statistic (row, slot)."""
    known = np.isfinite(values)
    counts = member.T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        means = member.T @ np.where(known, values, 0) / counts
        mean = np.nansum(means * counts, 0) / counts.sum(0)
        variance = np.nansum(counts * (means - mean) ** 2, 0) / counts.sum(0)
        scale = float(np.std(everywhere[np.isfinite(everywhere)], dtype=np.float64)) if known.any() else 0.0
    spread: Array = np.sqrt(variance) / scale if scale > 0 else np.full(values.shape[1], np.nan)
    return spread, means
