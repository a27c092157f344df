"""What near points share: how much more alike they are in a column than points at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEIGHBORS = 10


def nearest(vectors: NDArray[Any], count: int = NEIGHBORS, apart: Sequence[NDArray[Any]] = ()) -> Ints:
    """The nearest points (point, any order) of each point, without itself; −1 where there are too few.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]

    Parameters
    ----------
    vectors : array (point, feature)
        What distances are taken from.
    count : int
        Number of neighbors, if there are as many.
    apart : arrays (point,)
        Points that are equal in one of these are not neighbors, such as points of the same text.
    """
    vectors = vectors.astype(np.float64)  # products of long vectors lose their differences in float32
    squares = (vectors**2).sum(1)
    distances = squares[:, None] + squares - 2 * (vectors @ vectors.T)
    np.fill_diagonal(distances, np.inf)
    for values in apart:
        distances[values[:, None] == values] = np.inf
    count = min(count, len(vectors) - 1)
    if count < 1:
        return np.empty((len(vectors), 0), np.int64)
    near = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return np.where(np.isfinite(np.take_along_axis(distances, near, 1)), near, -1)


def strength(values: NDArray[Any], numeric: bool, near: Ints, *, circular: bool = False) -> float:
    """1 − (mean difference of neighbors) / (mean difference of all pairs); 0 if the values do not differ.

    Numbers are compared by their ranks, so that few large ones do not decide, and categories by whether they differ.
    Points without a value (NaN, or a category below 0) are left out.

    >>> near = np.array([[1], [0], [3], [2]])
    >>> strength(np.array([0, 0, 1, 1]), False, near), strength(np.array([0, 1, 0, 1]), False, near) < 0
    (1.0, True)

    Parameters
    ----------
    values : array (point,)
        Numbers, or categories as whole numbers.
    numeric : bool
        Whether they are numbers.
    near : array (point, neighbor)
        The neighbors of each point; −1 for none.
    circular : bool
        Whether the largest number is next to the smallest, as with angles.
    """
    total, count, usual = differences(values, numeric, near, circular=circular)
    return float(1 - total.sum() / count.sum() / usual) if count.any() and usual else 0.0


def differences(
    values: NDArray[Any], numeric: bool, near: Ints, *, circular: bool = False
) -> tuple[Floats, Ints, float]:
    """For each point the sum of the differences from its neighbors, and their number; the mean over all pairs."""
    known = np.isfinite(values) if numeric else values >= 0
    if known.sum() < 2:
        return np.zeros(len(values)), np.zeros(len(values), np.int64), 0.0
    ranks = np.zeros(len(values))
    ranks[known] = _ranks(values[known]) if numeric else values[known]
    circle = float(known.sum()) if circular else np.inf
    gap = _gap(ranks[:, None], ranks[near], numeric, circle)
    usable = known[:, None] & known[near] & (near >= 0)
    return np.where(usable, gap, 0).sum(1), usable.sum(1), _usual(ranks[known], numeric, circle)


def _ranks(values: NDArray[Any]) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), np.float64)


def _gap(first: NDArray[Any], second: NDArray[Any], numeric: bool, circle: float) -> Floats:
    """Differences of ranks, or whether categories differ."""
    gap: Floats = np.abs(first - second)
    return np.minimum(gap, circle - gap) if numeric else (gap > 0).astype(np.float64)


def _usual(values: Floats, numeric: bool, circle: float) -> float:
    """The mean difference of two values at random; of categories, how often they differ."""
    n = len(values)
    if np.isfinite(circle):
        return float(_gap(values[:, None], values, numeric, circle).sum() / (n * (n - 1)))
    if numeric:
        ordered = np.sort(values)
        return float(2 * (ordered * (2 * np.arange(n) - n + 1)).sum() / (n * (n - 1)))
    _, counts = np.unique(values, return_counts=True)
    return float(1 - (counts * (counts - 1)).sum() / (n * (n - 1)))
