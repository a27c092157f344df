"""Cubic B-splines that spread points on a mesh, and read a potential and its gradient off the mesh at the points.

Points are (axis, point); `origin` is the position of the first node, `scale` the number of nodes per unit. Each point
touches four nodes per axis, the first of them left of it, so all must lie at least one node inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

F, U = np.float32, np.uint32  # unsigned, so that no index is tested for being negative
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True, "fastmath": {"contract"}}
# Always inlined, so that one body is compiled, whether this process compiles the kernel or loads it from the cache.
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "fastmath": {"contract"}}


@njit(**PART)
def _values(t: Any) -> Any:
    """The four splines that are not 0 at t, a share of the way from one node to the next."""
    s = F(1) - t
    a, d = s * s * s * F(1 / 6), t * t * t * F(1 / 6)
    b = F(2 / 3) - t * t * (F(1) - F(0.5) * t)
    return a, b, F(1) - a - b - d, d


@njit(**PART)
def _slopes(t: Any) -> Any:
    """Their derivatives."""
    s = F(1) - t
    a, d = F(-0.5) * s * s, F(0.5) * t * t
    b = t * (F(1.5) * t - F(2))
    return a, b, -a - b - d, d


@njit(**HOW)
def spread(place: Any, origin: Any, scale: Any, mesh: Any) -> None:
    """Fill a mesh (node, node) with the points, each of weight 1."""
    mesh[:] = F(0)
    for i in range(place.shape[1]):
        u, v = (place[0, i] - origin[0]) * scale - F(1), (place[1, i] - origin[1]) * scale - F(1)
        a, b = U(u), U(v)
        rows, columns = _values(u - F(a)), _values(v - F(b))
        for p in range(4):
            for q in range(4):
                mesh[a + U(p), b + U(q)] += rows[p] * columns[q]


@njit(**HOW)
def read(place: Any, origin: Any, scale: Any, mesh: Any, slope: Any) -> Any:
    """Fill `slope` (axis, point) with the gradient of the potential on a mesh; return its sum over all points."""
    total = 0.0
    for i in range(place.shape[1]):
        u, v = (place[0, i] - origin[0]) * scale - F(1), (place[1, i] - origin[1]) * scale - F(1)
        a, b = U(u), U(v)
        rows, columns = _values(u - F(a)), _values(v - F(b))
        row_slopes, column_slopes = _slopes(u - F(a)), _slopes(v - F(b))
        height, dx, dy = F(0), F(0), F(0)
        for p in range(4):
            line, along = F(0), F(0)
            for q in range(4):
                value = mesh[a + U(p), b + U(q)]
                line += value * columns[q]
                along += value * column_slopes[q]
            height += rows[p] * line
            dx += row_slopes[p] * line
            dy += rows[p] * along
        total += np.float64(height)
        slope[0, i], slope[1, i] = dx * scale, dy * scale
    return total
