"""How far a projection can be trusted, point by point: are neighbors in the plane true neighbors?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

NEIGHBORS = 15
CHUNK = 2_000_000  # distances held at a time


def trust_per_point(high: Floats, low: Floats, k: int = NEIGHBORS) -> NDArray[np.float32]:
    """Trustworthiness of each point of a projection.

    >>> line = np.arange(40.0)[:, None]
    >>> float(trust_per_point(line, line, k=5).min())
    1.0

    Parameters
    ----------
    high : array (point, feature)
        The vectors that were projected.
    low : array (point, axis)
        Their positions. Swap `high` and `low` for the continuity.
    k : int
        Number of neighbors to look at.

    Returns
    -------
    trust : array (point,)
        1 if the k neighbors in `low` are the k neighbors in `high`; every neighbor in `low` of rank r > k in `high`
        costs r − k. Scaled so that the mean over all points is the usual trustworthiness.
    """
    return _trust(high, low, high, low, k, inside=True)


def trust_of_placed(
    high: Floats, low: Floats, sample_high: Floats, sample_low: Floats, k: int = NEIGHBORS
) -> NDArray[np.float32]:
    """Trustworthiness of points outside a sample, whose neighbors and ranks are looked up in the sample.

    >>> line = np.arange(40.0)[:, None]
    >>> float(trust_of_placed(line[:3] + 0.2, line[:3] + 0.2, line, line, k=5).min())
    1.0

    Parameters
    ----------
    high, low : array (point, feature), array (point, axis)
        Vectors and positions of the points.
    sample_high, sample_low : array (sample, feature), array (sample, axis)
        Vectors and positions of the sample.
    k : int
        Number of neighbors to look at.

    Returns
    -------
    trust : array (point,)
        As in `trust_per_point`.
    """
    return _trust(high, low, sample_high, sample_low, k, inside=False)


def neighbors_for(count: int) -> int:
    """The number of neighbors to look at among `count` points: 15, or just under half of few points."""
    return max(1, min(NEIGHBORS, (count - 1) // 2))


def _trust(
    high: Floats, low: Floats, sample_high: Floats, sample_low: Floats, k: int, *, inside: bool
) -> NDArray[np.float32]:
    """Trust of points, which are `inside` the sample themselves or not."""
    points = len(sample_high) if inside else len(sample_high) + 1  # the point, and those it is compared with
    worst = k * (2 * points - 3 * k - 1) / 2
    trust = np.empty(len(high), np.float32)
    size = max(1, CHUNK // len(sample_high))
    for start in range(0, len(high), size):
        part = slice(start, start + size)
        low_distances = _squared_distances(low[part], sample_low)
        high_distances = _squared_distances(high[part], sample_high)
        if inside:
            row = np.arange(len(high_distances))
            low_distances[row, start + row] = high_distances[row, start + row] = np.inf
        neighbors = np.argpartition(low_distances, k - 1, axis=1)[:, :k]
        trust[part] = 1 - _excess(high_distances, neighbors, k) / worst
    return trust


def _excess(distances: Floats, neighbors: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """By how much the ranks of these neighbors exceed k; equal distances share the best rank."""
    excess = np.zeros(len(distances))
    for column in neighbors.T:
        limit = np.take_along_axis(distances, column[:, None], 1)
        rank = 1 + np.count_nonzero(distances < limit, axis=1)
        excess += np.maximum(0, rank - k)
    return excess


def _squared_distances(points: Floats, others: Floats) -> Floats:
    """Squared distances up to a constant for each row, in float32; ranks need no more."""
    a, b = points.astype(np.float32), others.astype(np.float32)
    distances: Floats = (b * b).sum(1) - 2 * (a @ b.T)
    return distances
