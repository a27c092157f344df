"""The forces on all points, and gradient descent with momentum and gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headatlas.numeric.fast_tsne.mesh import Mesh
from headatlas.numeric.fast_tsne.pairs import AllPairs

F = np.float32
ZERO, ONE = F(0), F(1)
LONGEST_STEP, LEAST_GAIN = 5.0, 0.01
ROUND = 50  # iterations between two looks at the KL
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
LOOSE = {"contract", "reassoc", "nsz", "arcp"}  # sums may be reordered, so that they are vectorized


@njit(fastmath=LOOSE, **HOW)
def _pull_2d(starts: Any, others: Any, p: Any, place: Any, force: Any, attraction: Any, repulsion: Any) -> None:
    """Multiply ∇φ in `force` by `repulsion`, and add the attraction between neighbors."""
    x, y = place[0], place[1]
    for i in range(place.shape[1]):
        fx, fy = ZERO, ZERO
        for e in range(starts[i], starts[i + 1]):
            dx, dy = x[i] - x[others[e]], y[i] - y[others[e]]
            weight = p[e] / (ONE + dx * dx + dy * dy)
            fx += weight * dx
            fy += weight * dy
        force[0, i] = attraction * fx + repulsion * force[0, i]
        force[1, i] = attraction * fy + repulsion * force[1, i]


@njit(fastmath=LOOSE, **HOW)
def _pull_3d(starts: Any, others: Any, p: Any, place: Any, force: Any, attraction: Any, repulsion: Any) -> None:
    """The same in space."""
    x, y, z = place[0], place[1], place[2]
    for i in range(place.shape[1]):
        fx, fy, fz = ZERO, ZERO, ZERO
        for e in range(starts[i], starts[i + 1]):
            dx, dy, dz = x[i] - x[others[e]], y[i] - y[others[e]], z[i] - z[others[e]]
            weight = p[e] / (ONE + dx * dx + dy * dy + dz * dz)
            fx += weight * dx
            fy += weight * dy
            fz += weight * dz
        force[0, i] = attraction * fx + repulsion * force[0, i]
        force[1, i] = attraction * fy + repulsion * force[1, i]
        force[2, i] = attraction * fz + repulsion * force[2, i]


@njit(fastmath={"contract"}, **HOW)
def _move(place: Any, force: Any, step: Any, gain: Any, rate: Any, momentum: Any) -> None:
    """Move all points by one step; a gain grows while the direction stays, and shrinks when it turns."""
    dims, n = place.shape
    for axis in range(dims):
        mean = force[axis].mean()  # forces come in opposite pairs: what is left is the error of the mesh
        for i in range(n):
            pull = force[axis, i] - mean
            same = step[axis, i] * pull <= ZERO
            gain[axis, i] = gain[axis, i] + F(0.2) if same else gain[axis, i] * F(0.8) + F(LEAST_GAIN)
            step[axis, i] = momentum * step[axis, i] - rate * gain[axis, i] * pull
    for i in range(n):
        square = ZERO
        for axis in range(dims):
            square += step[axis, i] * step[axis, i]
        short = F(LONGEST_STEP) / math.sqrt(square) if square > F(LONGEST_STEP**2) else ONE
        for axis in range(dims):
            step[axis, i] *= short
            place[axis, i] += step[axis, i]


class Neighbors:
    """P in rows, as the kernels read it: unsigned indices are loaded faster."""

    def __init__(self, p: Any) -> None:
        self.rows = p.indptr.astype(np.uint32), p.indices.astype(np.uint32), p.data.astype(np.float32)

    def gradient(
        self,
        place: NDArray[np.float32],
        force: NDArray[np.float32],
        repulsion: Mesh | AllPairs,
        exaggeration: float = 1.0,
    ) -> None:
        """Fill `force` with the gradient of the KL at points (axis, point), P multiplied by `exaggeration`."""
        total = repulsion.potential(place, force)
        pull = _pull_2d if len(place) == 2 else _pull_3d
        pull(*self.rows, place, force, F(4 * exaggeration), F(2 / total))


class Descent:
    """Points (axis, point) that move, in place, down the gradient of the KL; they start from rest."""

    def __init__(self, p: Any, place: NDArray[np.float32], repulsion: Mesh | AllPairs) -> None:
        self.neighbors, self.place, self.repulsion = Neighbors(p), place, repulsion
        self.force = np.zeros_like(place)
        self.rest()

    def rest(self) -> None:
        """Forget speeds and gains."""
        self.step, self.gain = np.zeros_like(self.place), np.ones_like(self.place)

    def advance(self, iterations: int, rate: float, momentum: float, exaggeration: float = 1.0) -> None:
        """Make some iterations; `rate` is the learning rate divided by the number of points."""
        speed = F(rate * self.place.shape[1])
        for _ in range(iterations):
            self.neighbors.gradient(self.place, self.force, self.repulsion, exaggeration)
            _move(self.place, self.force, self.step, self.gain, speed, F(momentum))
        self.place -= self.place.mean(1, keepdims=True)


def settle(
    descent: Descent, kl: Callable[[], float], *, iterations: int, rate: float, momentum: float, every: int = ROUND
) -> float:
    """Make iterations without exaggeration, in rounds; returns the last KL.

    A rate that is fast for most data is too high for some, and points fly apart: a round that ends with a higher KL
    than it began with is undone, and the rate halved.
    """
    least, place = kl(), descent.place.copy()
    for first in range(0, iterations, every):
        descent.advance(min(every, iterations - first), rate, momentum)
        reached = kl()
        if reached <= least:
            least, place = reached, descent.place.copy()
        else:
            descent.place[:] = place
            descent.rest()
            rate /= 2
    return least
