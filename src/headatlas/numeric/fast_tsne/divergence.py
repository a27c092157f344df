"""The KL divergence of a layout, exactly: over all pairs, not those of a mesh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = np.float32
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
LOOSE = {"contract", "reassoc", "nsz", "arcp"}


@njit(fastmath=LOOSE, **HOW)
def _pairs(place: Any) -> Any:
    """Σ 1 / (1 + distance²) over ordered pairs of points (3, point); rows are added up in double precision."""
    x, y, z = place[0], place[1], place[2]
    total = 0.0
    for i in range(place.shape[1]):
        row = F(0)
        for j in range(i):
            dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            row += F(1) / (F(1) + dx * dx + dy * dy + dz * dz)
        total += np.float64(row)
    return 2 * total


@njit(**HOW)
def _cross(starts: Any, others: Any, p: Any, place: Any) -> Any:
    """Σ p · ln(p · (1 + distance²)) over all p that are not 0, and their sum."""
    total, mass = 0.0, 0.0
    for i in range(place.shape[1]):
        for e in range(starts[i], starts[i + 1]):
            weight, far = np.float64(p[e]), 1.0
            for axis in range(3):
                step = np.float64(place[axis, i]) - np.float64(place[axis, others[e]])
                far += step * step
            if weight > 0:
                mass += weight
                total += weight * math.log(weight * far)
    return total, mass


def divergence(p: Any, positions: NDArray[np.floating[Any]]) -> float:
    """KL(P‖Q) of positions (point, axis): P is sparse, Q is normalized by the sum over all pairs of points."""
    place = np.zeros((3, len(positions)), np.float32)
    place[: positions.shape[1]] = positions.T
    cross, mass = _cross(p.indptr, p.indices, p.data, place)
    return float(cross + mass * math.log(_pairs(place)))
