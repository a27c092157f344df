"""How well a projection preserves the neighbors of each point: trust, continuity and kept neighbors in one pass.

The same trust as `numeric.trust`, many times faster where there are thousands of points in each of many plots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]

CHUNK = 2_000_000  # distances held at a time
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}  # one compiled body only


class Preserved(NamedTuple):
    """What a projection preserves, for each point; 1 is best."""

    trust: Floats  # whether its neighbors on the plot are true ones
    continuity: Floats  # whether its true neighbors are near on the plot
    kept: Floats  # share of its true neighbors that are its neighbors on the plot


def neighborhoods(high: NDArray[Any], low: NDArray[Any], k: int) -> Preserved:
    """Trust, continuity and kept neighbors of each point.

    >>> line = np.arange(40.0)[:, None]
    >>> [float(values.min()) for values in neighborhoods(line, line * -2, k=5)]
    [1.0, 1.0, 1.0]

    Parameters
    ----------
    high : array (point, feature)
        The vectors that were projected.
    low : array (point, axis)
        Their positions.
    k : int
        Number of neighbors to look at, less than half of the points.
    """
    points = len(high)
    worst = k * (2 * points - 3 * k - 1) / 2
    centered = (high - high.mean(0, dtype=np.float64)).astype(np.float32)  # products are exact near the origin
    placed = np.ascontiguousarray(low.T, np.float32)
    squares = (centered * centered).sum(1)
    excess, kept = np.zeros((2, points)), np.zeros(points)
    size = max(1, CHUNK // points)
    for first in range(0, points, size):
        part = slice(first, first + size)
        distances = squares - 2 * (centered[part] @ centered.T)  # squared, up to a constant for each row
        _compare(distances, placed, first, k, excess[:, part], kept[part])
    trust, continuity = (1 - excess / worst).astype(np.float32)
    return Preserved(trust, continuity, (kept / k).astype(np.float32))


@njit(**HOW)
def _compare(distances: Any, placed: Any, first: int, k: int, excess: Any, kept: Any) -> None:
    """Compare true neighbors with those on the plot, for some points; distances (row, point), placed (axis, point)."""
    points = distances.shape[1]
    drawn = np.empty(points, np.float32)
    near, near_drawn = np.empty(k, np.int64), np.empty(k, np.int64)
    limit = np.empty(k, np.float32)
    for row in range(len(distances)):
        point, true = first + row, distances[row]
        for j in range(points):
            drawn[j] = np.float32(0)
        for axis in range(len(placed)):
            for j in range(points):
                step = placed[axis, j] - placed[axis, point]
                drawn[j] += step * step
        true[point] = drawn[point] = np.inf
        _nearest(true, near, limit)
        _nearest(drawn, near_drawn, limit)
        for i in range(k):
            for j in range(k):
                kept[row] += near[i] == near_drawn[j]
        excess[0, row] = _excess(true, near_drawn)
        excess[1, row] = _excess(drawn, near)


@njit(**PART)
def _nearest(distances: Any, near: Any, limit: Any) -> None:
    """The points at the least distances, the nearest first."""
    k = len(near)
    limit[:] = np.inf
    near[:] = -1
    for j in range(len(distances)):
        if distances[j] < limit[k - 1]:
            place = k - 1
            while place > 0 and distances[j] < limit[place - 1]:
                limit[place], near[place] = limit[place - 1], near[place - 1]
                place -= 1
            limit[place], near[place] = distances[j], j


@njit(**PART)
def _excess(distances: Any, near: Any) -> Any:
    """By how much the ranks of some points exceed their number; equal distances share the best rank."""
    k = len(near)
    excess: Any = 0
    for i in range(k):
        limit = distances[near[i]]
        nearer = np.int32(0)
        for j in range(len(distances)):  # a sum of comparisons, which is computed in vector lanes
            nearer += np.int32(distances[j] < limit)
        excess += max(0, nearer + 1 - k)
    return excess
