"""How far a projection can be believed, point by point: are the neighbours one sees real neighbours?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

NEIGHBOURS = 15
CHUNK = 2_000_000  # distances held at a time


def trust_per_point(high: Floats, low: Floats, k: int = NEIGHBOURS) -> NDArray[np.float32]:
    """Trustworthiness of each point: 1 if its k neighbours in `low` are among its k neighbours in `high`.

    Every neighbour in `low` that has a rank r > k in `high` costs r − k, and the sum is scaled as usual, so that the
    mean over all points is the trustworthiness of the whole. Trade `high` and `low` for the continuity.

    >>> line = np.arange(40.0)[:, None]
    >>> float(trust_per_point(line, line, k=5).min())
    1.0
    """
    return _trust(high, low, high, low, k, itself=True)


def trust_of_placed(
    high: Floats, low: Floats, sample_high: Floats, sample_low: Floats, k: int = NEIGHBOURS
) -> NDArray[np.float32]:
    """The same for points outside a sample: neighbours and ranks are sought among the points of the sample."""
    return _trust(high, low, sample_high, sample_low, k, itself=False)


def neighbours_for(count: int) -> int:
    """The number of neighbours looked at: 15, or fewer where there are too few points to speak of so many."""
    return max(1, min(NEIGHBOURS, (count - 1) // 2))


def _trust(
    high: Floats, low: Floats, sample_high: Floats, sample_low: Floats, k: int, *, itself: bool
) -> NDArray[np.float32]:
    points = len(sample_high) if itself else len(sample_high) + 1  # the point, and those it is compared with
    worst = k * (2 * points - 3 * k - 1) / 2
    trust = np.empty(len(high), np.float32)
    size = max(1, CHUNK // len(sample_high))
    for start in range(0, len(high), size):
        part = slice(start, start + size)
        near = _squared_distances(low[part], sample_low)
        far = _squared_distances(high[part], sample_high)
        if itself:
            own = np.arange(len(far))
            near[own, start + own] = far[own, start + own] = np.inf
        seen = np.argpartition(near, k - 1, axis=1)[:, :k]
        trust[part] = 1 - _excess(far, seen, k) / worst
    return trust


def _excess(distances: Floats, seen: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """By how much the ranks of the points that are seen as neighbours exceed k; equal distances share the best rank."""
    excess = np.zeros(len(distances))
    for column in seen.T:
        limit = np.take_along_axis(distances, column[:, None], 1)
        rank = 1 + np.count_nonzero(distances < limit, axis=1)
        excess += np.maximum(0, rank - k)
    return excess


def _squared_distances(points: Floats, others: Floats) -> Floats:
    """Squared distances up to a constant for each row, in float32; ranks need no more."""
    a, b = points.astype(np.float32), others.astype(np.float32)
    found: Floats = (b * b).sum(1) - 2 * (a @ b.T)
    return found
