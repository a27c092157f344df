"""Means over independent sources, with intervals; of values in memory, or of values that come block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Estimates(NamedTuple):
    """A mean for each place with its 95% interval, and the number of sources it is over; NaN: unknown."""

    mean: Floats
    low: Floats
    high: Floats
    sources: Ints


class Moments(NamedTuple):
    """A mean over sources for each place, its standard error, and the number of sources."""

    mean: Floats
    error: Floats
    sources: Ints

    def estimates(self, least: int) -> Estimates:
        """With intervals by Student's t; a place with fewer than `least` sources has none."""
        from scipy.stats import t

        with np.errstate(invalid="ignore"):
            enough = self.sources >= max(least, 2)
            half = np.where(enough, t.ppf(0.975, np.maximum(self.sources - 1, 1)) * self.error, np.nan)
        return Estimates(self.mean, self.mean - half, self.mean + half, self.sources)


def mean_over_sources(values: NDArray[Any], source: NDArray[Any], least: int) -> Estimates:
    """Means of values (example, place) over sources, each counted once, with intervals by Student's t.

    Examples with the same number in `source` are one source, which has their mean. NaN values do not count. A place
    with fewer than `least` sources has no interval.

    >>> means = mean_over_sources(np.array([[1.0], [3.0], [4.0], [np.nan]]), np.array([0, 0, 1, 2]), 2)
    >>> float(means.mean[0]), means.sources.tolist()
    (3.0, [2])
    """
    return moments(source_means(values, source)).estimates(least)


def moments(means: Floats) -> Moments:
    """The moments of means (source, place) over sources; NaN does not count."""
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.isfinite(means).sum(0)
        mean = np.nansum(means, 0) / count
        error = np.sqrt(np.nansum((means - mean) ** 2, 0) / (count - 1) / count)
    return Moments(np.where(count > 0, mean, np.nan), error, count)


def source_means(values: NDArray[Any], source: NDArray[Any]) -> Floats:
    """Means (source, place) of values (example, place) over the examples of each source; NaN where there is none."""
    numbers = np.unique(source, return_inverse=True)[1]
    sums, counts = (np.zeros((int(numbers.max(initial=-1)) + 1, values.shape[1])) for _ in range(2))
    known = np.isfinite(values)
    np.add.at(sums, numbers, np.where(known, values, 0))
    np.add.at(counts, numbers, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts


class StreamedMeans:
    """Moments over sources of values that come in the order of examples, a block at a time.

    A source is forgotten after its last example, so that memory does not grow with their number if the examples of a
    source are near one another.

    >>> streamed = StreamedMeans(np.array([0, 0, 1, 2]), 1)
    >>> streamed.add(np.array([[1.0]]))
    >>> streamed.add(np.array([[3.0], [4.0], [np.nan]]))
    >>> float(streamed.moments().mean[0]), streamed.moments().sources.tolist()
    (3.0, [2])

    Parameters
    ----------
    source : array (example,)
        The source of each example, as numbers from 0.
    places : int
        Values of an example.
    """

    def __init__(self, source: NDArray[Any], places: int) -> None:
        self.source = source
        self.last = np.zeros(int(source.max(initial=-1)) + 1, np.int64)  # the last example of each source
        self.last[source] = np.arange(len(source))
        self.seen = 0
        self.open: dict[int, tuple[Floats, Floats]] = {}  # sums and counts of sources that are not complete
        self.count, self.balance = np.zeros(places, np.int64), np.zeros(places, np.int64)
        self.mean, self.squares = np.zeros(places), np.zeros(places)  # squares: of deviations from the mean

    def add(self, values: NDArray[Any]) -> None:
        """Add the values (example, place) of the next examples; NaN does not count."""
        rows = slice(self.seen, self.seen + len(values))
        numbers, place = np.unique(self.source[rows], return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(numbers)))
        known = np.isfinite(values)[order]
        sums = np.add.reduceat(np.where(known, values[order], 0.0), starts, 0)
        counts = np.add.reduceat(known.astype(np.float64), starts, 0)
        self.seen = rows.stop
        for at, number in enumerate(numbers.tolist()):
            if number in self.open:
                earlier = self.open.pop(number)
                sums[at] += earlier[0]
                counts[at] += earlier[1]
        complete = self.last[numbers] < self.seen
        for at in np.flatnonzero(~complete).tolist():
            self.open[int(numbers[at])] = (sums[at].copy(), counts[at].copy())
        self._close(sums[complete], counts[complete])

    def _close(self, sums: Floats, counts: Floats) -> None:
        """Add complete sources: the moments of two sets together (Chan et al. 1979)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / counts
            known = np.isfinite(means)
            count = known.sum(0)
            mean = np.where(known, means, 0).sum(0) / np.maximum(count, 1)
        squares = np.where(known, (means - mean) ** 2, 0).sum(0)
        total = np.maximum(self.count + count, 1)
        gap = mean - self.mean
        self.squares += squares + gap**2 * self.count * count / total
        self.mean += gap * count / total
        self.count += count
        self.balance += np.sign(np.where(known, means, 0)).sum(0).astype(np.int64)

    def moments(self) -> Moments:
        """The moments over all sources that are complete."""
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(self.squares / (self.count - 1) / self.count)
        return Moments(np.where(self.count > 0, self.mean, np.nan), error, self.count.copy())

    def signs(self) -> Floats:
        """Share of sources whose mean is above 0 less the share of those below: −1 to 1; NaN without sources."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.balance / self.count
