"""Quantile-equidistant axes: equal steps hold equally many points, and ticks carry the true values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError, OptionError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A rising, piecewise linear map from values to [0, 1]: `knots` are values, `heights` where they go."""

    knots: Numbers
    heights: Numbers

    def forward(self, values: Any) -> Numbers:
        """Where values lie on the axis; beyond the ends they lie at the ends, NaN stays NaN."""
        numbers = np.asarray(values, np.float64)
        placed: Numbers = np.interp(numbers, self.knots, self.heights)
        return np.where(np.isnan(numbers), np.nan, placed)

    def inverse(self, places: Any) -> Numbers:
        """The values at places of the axis."""
        found: Numbers = np.interp(np.asarray(places, np.float64), self.heights, self.knots)
        return found

    def ticks(self, count: int = 5) -> tuple[Numbers, list[str]]:
        """Places at equal steps, and the true values there, in as few digits as tell them apart."""
        if count < 2:
            raise OptionError(f"{count} ticks: an axis has at least 2")
        places = np.linspace(0, 1, count)
        return places, labels(self.inverse(places))


def axis(values: Any, k: int = 100) -> Axis:
    """The axis of a coordinate from k of its quantiles; k = n is the empirical distribution function.

    Small k keeps more of the scale: k = 2 is an ordinary axis from the smallest value to the largest. Values that occur
    often make several quantiles equal: these become one knot, in their middle.

    >>> one = axis([0.0, 1.0, 2.0, 100.0], k=4)
    >>> one.forward([1.0, 51.0]), one.ticks(4)[1]
    (array([0.33333333, 0.83333333]), ['0', '1', '2', '100'])
    """
    numbers = np.asarray(values, np.float64).ravel()
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or not np.isfinite(numbers).all():
        raise DataError("an axis needs at least one value, and all of them finite")
    if k < 2:
        raise OptionError(f"{k} quantiles: an axis needs at least 2")
    heights = np.linspace(0, 1, min(k, max(len(numbers), 2)))
    quantiles = np.quantile(numbers, heights)
    knots, where = np.unique(quantiles, return_inverse=True)
    middle = np.bincount(where, heights) / np.bincount(where)
    if len(knots) > 1:
        middle[0], middle[-1] = 0.0, 1.0
    return Axis(knots, middle)


def labels(values: Numbers) -> list[str]:
    """Numbers in as few digits as tell them apart, at most 6.

    >>> labels(np.array([0.1234, 0.1299, 3.0]))
    ['0.12', '0.13', '3']
    """
    for digits in range(2, 7):
        found = [f"{value:.{digits}g}" for value in values]
        if len(set(found)) == len(set(values.tolist())):
            break
    return [f"{float(one):g}".replace("-", "−") for one in found]
