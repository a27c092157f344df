"""Quantile-equidistant axes: equal steps hold equally many points, and ticks show the original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError, OptionError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """An increasing, piecewise linear map from values to positions in [0, 1]; see `axis`.

    Attributes
    ----------
    knots : array
        Values, increasing.
    heights : array
        The position of each knot.
    """

    knots: Numbers
    heights: Numbers

    def forward(self, values: Any) -> Numbers:
        """Positions of values; values beyond the ends lie at the ends, NaN stays NaN."""
        numbers = np.asarray(values, np.float64)
        positions: Numbers = np.interp(numbers, self.knots, self.heights)
        return np.where(np.isnan(numbers), np.nan, positions)

    def inverse(self, positions: Any) -> Numbers:
        """Values at positions."""
        values: Numbers = np.interp(np.asarray(positions, np.float64), self.heights, self.knots)
        return values

    def ticks(self, count: int = 5) -> tuple[Numbers, list[str]]:
        """Positions at equal steps, and the original values there, in as few digits as distinguish them."""
        if count < 2:
            raise OptionError(f"{count} ticks: an axis has at least 2")
        positions = np.linspace(0, 1, count)
        return positions, labels(self.inverse(positions))


def axis(values: Any, k: int = 100) -> Axis:
    """The quantile-equidistant axis of a coordinate.

    >>> skewed = axis([0.0, 1.0, 2.0, 100.0], k=4)
    >>> skewed.forward([1.0, 51.0]), skewed.ticks(4)[1]
    (array([0.33333333, 0.83333333]), ['0', '1', '2', '100'])

    Parameters
    ----------
    values : array
        Finite numbers of any shape; NaN is ignored.
    k : int
        Number of quantiles. With as many as there are values the axis is the empirical distribution function; few keep
        more of the scale, and 2 give an ordinary axis from the smallest value to the largest.

    Returns
    -------
    axis : Axis
        Its knots are the distinct quantiles: a frequent value makes several equal, and is placed in their middle.
    """
    numbers = np.asarray(values, np.float64).ravel()
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or not np.isfinite(numbers).all():
        raise DataError("an axis needs at least one value, and all of them finite")
    if k < 2:
        raise OptionError(f"{k} quantiles: an axis needs at least 2")
    heights = np.linspace(0, 1, min(k, max(len(numbers), 2)))
    knots, knot = np.unique(np.quantile(numbers, heights), return_inverse=True)
    middle = np.bincount(knot, heights) / np.bincount(knot)
    if len(knots) > 1:
        middle[0], middle[-1] = 0.0, 1.0
    return Axis(knots, middle)


def labels(values: Numbers) -> list[str]:
    """Numbers in as few digits as distinguish them, at most 6.

    >>> labels(np.array([0.1234, 0.1299, 3.0]))
    ['0.12', '0.13', '3']
    """
    for digits in range(2, 7):
        rounded = [f"{value:.{digits}g}" for value in values]
        if len(set(rounded)) == len(set(values.tolist())):
            break
    return [f"{float(number):g}".replace("-", "−") for number in rounded]
