"""A statistic of some maps against other maps of the same texts: what a text does to all of its maps does not count.

On a text of eight tokens every head attends to tokens nearby; a cluster of such maps is not what its heads do. So each
map of a cluster is compared with the maps of other clusters on the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.effect import Draws

Array = NDArray[Any]


@dataclass(frozen=True)
class Contrast:
    """One statistic of several sets of maps, each against the other maps of its texts; arrays (set,)."""

    mean: Array
    rest: Array  # mean of the other maps, each text weighted by how many maps of the set it has
    delta: Array  # Cliff's delta: P(higher) − P(lower) for a map of the set and another map of its text
    low: Array
    high: Array


@dataclass(frozen=True)
class Ranked:
    """The values of one statistic (text, map), and how many maps of the same text are lower less those higher."""

    values: Array
    above: Array

    @classmethod
    def of(cls, values: Array) -> Ranked:
        """Rank values, NaN where there is none. With one map per text, all texts are compared with one another."""
        from scipy.stats import rankdata

        if values.shape[1] == 1:
            values = values.T
        known = np.isfinite(values)
        ranks = rankdata(np.where(known, values, np.inf), axis=1)
        above = np.where(known, 2 * ranks - (known.sum(1, keepdims=True) + 1), 0.0)
        return cls(np.where(known, values, np.nan).astype(np.float64), above)


def contrast(ranked: Ranked, parts: Array, members: Array, group: Array | None, draws: Draws | None) -> Contrast:
    """Compare sets of maps, each made of `members` (set, part), by the part (text, map) that each map is in.

    A pair of maps of one set adds nothing to the sums of `above`: one is higher, the other lower. Intervals are over
    groups of texts.
    """
    if parts.shape[1] == 1:
        parts, draws = parts.T, None
    count, total, above = (sums @ members.T for sums in part_sums(ranked, parts, members.shape[1]))
    texts = np.isfinite(ranked.values) & (parts >= 0)
    others = texts.sum(1, keepdims=True) - count
    outside = np.where(texts, ranked.values, 0.0).sum(1, keepdims=True) - total
    compared = np.where(others > 0, count, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(others > 0, outside / others, 0.0) * count
        higher = np.where(others > 0, above / others, 0.0)
        pairs = compared.sum(0)
        delta = higher.sum(0) / pairs
        low = high = np.full(len(members), np.nan)
        if draws is not None and group is not None:
            low, high = interval(_drawn(higher, compared, group, draws))
        return Contrast(total.sum(0) / count.sum(0), rest.sum(0) / pairs, delta, low, high)


def part_sums(ranked: Ranked, parts: Array, count: int) -> tuple[Array, Array, Array]:
    """Number of maps with a value, their sum, and the sum of `above`, each (text, part)."""
    known = np.isfinite(ranked.values) & (parts >= 0)
    cell = (np.arange(len(parts))[:, None] * count + parts)[known]

    def added(weights: Array | None) -> Array:
        return np.bincount(cell, weights, len(parts) * count).reshape(len(parts), count)

    return added(None), added(ranked.values[known]), added(ranked.above[known])


def _drawn(higher: Array, compared: Array, group: Array, draws: Draws) -> Array:
    """Delta of each draw of groups of texts (draw, set)."""
    sums = [np.zeros((draws.groups, higher.shape[1])) for _ in range(2)]
    for by_group, by_text in zip(sums, (higher, compared), strict=True):
        np.add.at(by_group, group, by_text)
    drawn: Array = np.concatenate([weights @ sums[0] / (weights @ sums[1]) for weights in draws.batches()])
    return drawn
