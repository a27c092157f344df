"""Means over independent sources, with intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Estimates(NamedTuple):
    """A mean for each place with its 95% interval, and the number of sources it is over; NaN: unknown."""

    mean: Floats
    low: Floats
    high: Floats
    sources: NDArray[np.int64]


def mean_over_sources(values: NDArray[Any], source: NDArray[Any], least: int) -> Estimates:
    """Means of values (example, place) over sources, each counted once, with intervals by Student's t.

    Examples with the same number in `source` are one source, which has their mean. NaN values do not count. A place
    with fewer than `least` sources has no interval.

    >>> means = mean_over_sources(np.array([[1.0], [3.0], [4.0], [np.nan]]), np.array([0, 0, 1, 2]), 2)
    >>> float(means.mean[0]), means.sources.tolist()
    (3.0, [2])
    """
    from scipy.stats import t

    numbers = np.unique(source, return_inverse=True)[1]
    sums, counts = (np.zeros((int(numbers.max(initial=-1)) + 1, values.shape[1])) for _ in range(2))
    known = np.isfinite(values)
    np.add.at(sums, numbers, np.where(known, values, 0))
    np.add.at(counts, numbers, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts  # (source, place)
        count = np.isfinite(means).sum(0)
        mean = np.nansum(means, 0) / count
        error = np.sqrt(np.nansum((means - mean) ** 2, 0) / (count - 1) / count)
        half = np.where(count >= max(least, 2), t.ppf(0.975, np.maximum(count - 1, 1)) * error, np.nan)
    return Estimates(np.where(count > 0, mean, np.nan), mean - half, mean + half, count)
