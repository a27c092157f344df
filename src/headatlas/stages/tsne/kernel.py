"""Exact t-SNE of given neighbor probabilities, many restarts at once: each restart is one vector lane.

Every pair of points is visited once per iteration and moves both points. Distances, weights, forces and the sum that
normalizes Q are computed in that visit; so the forces of an iteration are normalized by the sum of the previous one,
which is the same once points have converged. Steps are those of openTSNE: momentum, gains, early exaggeration, steps
of at most 5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headatlas.stages.tsne.lanes import WIDTH, load, spread, store

F = np.float32
ZERO, ONE, TWO, FOUR = F(0), F(1), F(2), F(4)
# Libraries use a learning rate of n, which gives a higher KL on attention maps. With less early exaggeration, heads
# that attend to the previous token are tangled more often; with more, other heads have a higher KL.
ITERATIONS, EARLY, EXAGGERATION, MOMENTUM = 1000, 250, 8.0, 0.8
RATE = 1 / 24  # of the number of points
LONGEST_STEP, LEAST_GAIN = 5.0, 0.01
START = 0.01  # deviation of the first positions
RECIPE = {"iterations": ITERATIONS, "early": EARLY, "exaggeration": EXAGGERATION, "rate": RATE}  # of every layout

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
# Always inlined, so that one body is compiled, whether this process compiles the kernel or loads it from the cache.
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}


@njit(**PART)
def _pair(xi: Any, yi: Any, xj: Any, yj: Any, p: Any, share: Any) -> Any:
    """The force between two points along both axes, and 1 / (1 + distance²); `share` is 1 / Σ of all the latter."""
    dx, dy = xi - xj, yi - yj
    near = spread(ONE) / (spread(ONE) + dx * dx + dy * dy)
    pull = (spread(p) - near * share) * near
    return pull * dx, pull * dy, near


@njit(**PART)
def _one_row(p: Any, x: Any, y: Any, gx: Any, gy: Any, i: int, first: int, last: int, share: Any, z: Any) -> Any:
    """Point i against points first … last − 1."""
    xi, yi, fx, fy = load(x, i), load(y, i), load(gx, i), load(gy, i)
    for j in range(first, last):
        tx, ty, near = _pair(xi, yi, load(x, j), load(y, j), p[i, j], share)
        fx, fy, z = fx + tx, fy + ty, z + near
        store(gx, j, load(gx, j) - tx)
        store(gy, j, load(gy, j) - ty)
    store(gx, i, fx)
    store(gy, i, fy)
    return z


@njit(**PART)
def _two_rows(p: Any, x: Any, y: Any, gx: Any, gy: Any, i: int, share: Any, z: Any) -> Any:
    """Points i and i + 1 against all before them: point j is loaded once for both."""
    xa, ya, xb, yb = load(x, i), load(y, i), load(x, i + 1), load(y, i + 1)
    fxa, fya, fxb, fyb = load(gx, i), load(gy, i), load(gx, i + 1), load(gy, i + 1)
    for j in range(i):
        xj, yj = load(x, j), load(y, j)
        ax, ay, near_a = _pair(xa, ya, xj, yj, p[i, j], share)
        bx, by, near_b = _pair(xb, yb, xj, yj, p[i + 1, j], share)
        fxa, fya, fxb, fyb = fxa + ax, fya + ay, fxb + bx, fyb + by
        store(gx, j, load(gx, j) - (ax + bx))
        store(gy, j, load(gy, j) - (ay + by))
        z = z + (near_a + near_b)
    store(gx, i, fxa)
    store(gy, i, fya)
    store(gx, i + 1, fxb)
    store(gy, i + 1, fyb)
    return z


@njit(**PART)
def _forces(p: Any, x: Any, y: Any, gx: Any, gy: Any, share: Any, total: Any) -> None:
    """A quarter of the gradient (points, lane) for both axes, and Σ 1 / (1 + distance²) over ordered pairs."""
    n = p.shape[0]
    gx[:] = ZERO
    gy[:] = ZERO
    scale, z = load(share, 0), spread(ZERO)
    for i in range(0, n - 1, 2):
        z = _two_rows(p, x, y, gx, gy, i, scale, z)
        z = _one_row(p, x, y, gx, gy, i + 1, i, i + 1, scale, z)
    if n % 2:
        z = _one_row(p, x, y, gx, gy, n - 1, 0, n - 1, scale, z)
    store(total, 0, z + z)


@njit(fastmath={"contract"}, **PART)
def _step(force: Any, move: Any, gain: Any, rate: Any, momentum: Any) -> Any:
    """The next move of one coordinate, and its gain: it grows while the direction stays, and shrinks when it turns."""
    gain = gain + F(0.2) if move * force <= ZERO else gain * F(0.8) + F(LEAST_GAIN)
    return momentum * move - rate * gain * force, gain


@njit(fastmath={"contract"}, **PART)
def _move(place: Any, force: Any, move: Any, gain: Any, rate: Any, momentum: Any) -> None:
    """Move all points of all lanes by one step; arrays are (axis, point · lane)."""
    for o in range(place.shape[1]):
        mx, kx = _step(force[0, o], move[0, o], gain[0, o], rate, momentum)
        my, ky = _step(force[1, o], move[1, o], gain[1, o], rate, momentum)
        length = math.sqrt(mx * mx + my * my)
        short = F(LONGEST_STEP) / length if length > F(LONGEST_STEP) else ONE
        gain[0, o], gain[1, o] = kx, ky
        move[0, o], move[1, o] = mx * short, my * short
        place[0, o] += mx * short
        place[1, o] += my * short


@njit(**PART)
def _center(place: Any) -> None:
    """Put the mean of each lane at 0; `place` is (axis, point, lane)."""
    n = place.shape[1]
    for axis in range(2):
        for lane in range(WIDTH):
            total = ZERO
            for i in range(n):
                total += place[axis, i, lane]
            for i in range(n):
                place[axis, i, lane] -= total / F(n)


@njit(**HOW)
def descend(p: Any, place: Any, iterations: int, early: int, rate: Any) -> None:
    """Move the points of WIDTH layouts (axis, point, lane), in place, from a start to the end; p is (n, n) float32."""
    n = p.shape[0]
    force, move, gain = np.zeros_like(place), np.zeros_like(place), np.ones_like(place)
    share, total = np.full((1, WIDTH), ONE / F(n * (n - 1)), np.float32), np.empty((1, WIDTH), np.float32)
    strong = p * F(EXAGGERATION)
    flat = (2, n * WIDTH)
    for iteration in range(iterations):
        if iteration == early:
            move[:] = ZERO
            gain[:] = ONE
        now = strong if iteration < early else p
        _forces(now, place[0], place[1], force[0], force[1], share, total)
        for lane in range(WIDTH):
            share[0, lane] = ONE / total[0, lane]
        _move(
            place.reshape(flat), force.reshape(flat), move.reshape(flat), gain.reshape(flat), FOUR * rate, F(MOMENTUM)
        )
        if iteration % 50 == 0:
            _center(place)  # it drifts by rounding only: forces come in opposite pairs
    _center(place)


@njit(**HOW)
def gradient(p: Any, place: Any, share: Any, force: Any, total: Any) -> None:
    """The gradient of KL at given layouts (axis, point, lane), normalized by `share` (1, lane); fills force, total."""
    _forces(p, place[0], place[1], force[0], force[1], share, total)
    force *= FOUR


@njit(**HOW)
def divergence(p: Any, places: Any) -> Any:
    """KL(P‖Q) of layouts (layout, point, axis) in float64, with 0 · ln 0 = 0."""
    n = p.shape[0]
    kl = np.zeros(places.shape[0])
    for r in range(places.shape[0]):
        near, total, mass = 0.0, 0.0, 0.0
        for i in range(1, n):
            for j in range(i):
                dx = np.float64(places[r, i, 0]) - np.float64(places[r, j, 0])
                dy = np.float64(places[r, i, 1]) - np.float64(places[r, j, 1])
                far = 1.0 + dx * dx + dy * dy
                near += 2.0 / far
                if p[i, j] > 0.0:
                    mass += 2.0 * p[i, j]
                    total += 2.0 * p[i, j] * math.log(p[i, j] * far)
        kl[r] = total + mass * math.log(near) if n > 1 else 0.0
    return kl


def layouts(
    p: NDArray[np.float64], *, restarts: int = 16, seed: int | tuple[int, ...] = 0, iterations: int = ITERATIONS
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Layouts (restart, point, axis) of probabilities (n, n), and the KL of each. One core, the same for the same seed.

    Restart r begins at the same positions whatever the number of restarts. One point lies at 0; two at distance 1.
    """
    n = len(p)
    if n < 3:
        pair = np.array([[-0.5, 0.0], [0.5, 0.0]] if n == 2 else [[0.0, 0.0]] * n, np.float32).reshape(n, 2)
        return np.repeat(pair[None], restarts, 0), np.zeros(restarts)
    groups = -(-restarts // WIDTH)
    rng = np.random.default_rng(seed)
    start = (START * rng.standard_normal((groups * WIDTH, n, 2), np.float32)).astype(np.float32)
    single = np.ascontiguousarray(p, np.float32)
    early = min(EARLY, iterations // 4)
    positions = np.empty((groups * WIDTH, n, 2), np.float32)
    for first in range(0, groups * WIDTH, WIDTH):
        place = np.ascontiguousarray(start[first : first + WIDTH].transpose(2, 1, 0))
        descend(single, place, iterations, early, F(RATE * n))
        positions[first : first + WIDTH] = place.transpose(2, 1, 0)
    positions = positions[:restarts]
    return positions, divergence(np.ascontiguousarray(p, np.float64), positions)
