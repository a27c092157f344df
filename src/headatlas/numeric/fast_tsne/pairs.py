"""The repulsion of all pairs of points in space, one by one: a mesh fine enough would have too many nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = np.float32
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
LOOSE = {"contract", "reassoc", "nsz", "arcp"}  # sums may be reordered, so that they are vectorized


@njit(fastmath=LOOSE, **HOW)
def _potential(place: Any, slope: Any) -> Any:
    x, y, z = place[0], place[1], place[2]
    n = place.shape[1]
    total = 0.0
    for i in range(n):
        near, fx, fy, fz = F(0), F(0), F(0), F(0)
        for j in range(n):
            dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            q = F(1) / (F(1) + dx * dx + dy * dy + dz * dz)
            near += q
            q *= q
            fx += q * dx
            fy += q * dy
            fz += q * dz
        slope[0, i], slope[1, i], slope[2, i] = F(-2) * fx, F(-2) * fy, F(-2) * fz
        total += np.float64(near)
    return total - n


class AllPairs:
    """The same sums as `Mesh` gives in the plane, exactly."""

    def potential(self, place: NDArray[np.float32], slope: NDArray[np.float32]) -> float:
        """Fill `slope` with ∇φ at points (3, point); return Σ 1 / (1 + distance²) over all ordered pairs."""
        return float(_potential(place, slope))
