"""How likely a mean over sources is by chance: against a level that is known, or against draws of what chance gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.estimates import Moments, moments, source_means

Floats = NDArray[np.float64]


def above_level(excess: NDArray[Any], source: NDArray[Any], least: int) -> Floats:
    """One-sided p that the mean of values (example, place) is above 0, by Student's t over sources.

    NaN values do not count. A place with fewer than `least` sources has no p.
    """
    return above_zero(moments(source_means(excess, source)), least)


def above_zero(means: Moments, least: int) -> Floats:
    """One-sided p that means over sources are above 0, by Student's t."""
    from scipy.stats import t

    return _floored(_tail(means, t.sf, 1), means.sources, least)


def away_from_zero(means: Moments, least: int) -> Floats:
    """Two-sided p that means over sources are not 0, by Student's t.

    >>> from headatlas.numeric.estimates import moments
    >>> away_from_zero(moments(np.array([[1.0, -1.0], [2.0, 1.0], [3.0, 0.0]])), 2).round(4).tolist()
    [0.25, 1.0]
    """
    from scipy.stats import t

    def both_tails(ratio: Any, freedom: Any) -> Any:
        return 2 * t.sf(np.abs(ratio), freedom)

    return _floored(_tail(means, both_tails, 2), means.sources, least, tails=2)


def _tail(means: Moments, tail: Callable[[Any, Any], Any], tails: int) -> Floats:
    """The tail of the ratio of means to their errors; where all sources agree exactly, 0 if the mean is away from 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p = tail(means.mean / means.error, np.maximum(means.sources - 1, 1))
    away = means.mean != 0 if tails == 2 else means.mean > 0
    exact: Floats = np.where(means.error == 0, np.where(away, 0.0, 1.0), p)
    return exact


def above_draws(excess: NDArray[Any], cumulants: NDArray[Any], source: NDArray[Any], least: int) -> Floats:
    """One-sided p of the sum of values (example, place) less their chance, which has mean 0.

    `cumulants` (2, example, place) are the second and third of what chance gives for each example. The sum over
    independent sources has the sums of their cumulants; its tail is that of the Pearson III distribution with these.
    Examples of one source are taken to depend on one another as much as they can.
    """
    from scipy.stats import pearson3

    means = source_means(excess, source)
    count = np.isfinite(means).sum(0)
    total = np.nansum(means, 0)
    variance = np.nansum(source_means(np.sqrt(np.maximum(cumulants[0], 0)), source) ** 2, 0)
    third = np.nansum(source_means(np.cbrt(cumulants[1]), source) ** 3, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skew = np.nan_to_num(third / variance**1.5)
        p = pearson3.sf(total / np.sqrt(variance), skew)
    return _floored(np.where(variance > 0, p, 1.0), count, least)


def _floored(p: Any, count: NDArray[np.int64], least: int, tails: int = 1) -> Floats:
    """No p is below that of as many tosses of a coin as there are sources."""
    lowest = np.minimum(tails * 0.5**count, 1)
    floored: Floats = np.where(count >= least, np.clip(np.nan_to_num(p, nan=1.0), lowest, 1), np.nan)
    return floored


def cumulants(draws: NDArray[Any]) -> Floats:
    """Mean, variance and third cumulant (3, place) of draws (place, draw) that are finite; NaN with fewer than 3.

    The variance is that of one more draw about the mean of these.

    >>> cumulants(np.array([[0.0, 0.0, 3.0]])).round(3).tolist()
    [[1.0], [4.0], [9.0]]
    """
    known = np.isfinite(draws).all(0)
    drawn, count = draws[:, known].astype(np.float64), int(known.sum())
    if count < 3:
        return np.full((3, len(draws)), np.nan)
    mean = drawn.mean(1)
    rest = drawn - mean[:, None]
    variance = (rest**2).sum(1) / (count - 1) * (1 + 1 / count)
    return np.stack([mean, variance, (rest**3).sum(1) * count / ((count - 1) * (count - 2))])


def false_discovery_rates(p: NDArray[Any]) -> Floats:
    """Benjamini and Hochberg: the smallest false discovery rate at which each would be reported; NaN stays NaN.

    >>> false_discovery_rates(np.array([0.01, 0.04, np.nan, 0.03])).round(3)
    array([0.03, 0.04,  nan, 0.04])
    """
    q = np.full(p.shape, np.nan)
    known = np.isfinite(p)
    order = np.argsort(p[known])
    raised = p[known][order] * len(order) / np.arange(1, len(order) + 1)
    rates = np.empty(len(order))
    rates[order] = np.minimum(1, np.minimum.accumulate(raised[::-1])[::-1])
    q[known] = rates
    return q
