"""The nearest neighbors of every point, exactly: blocks of a matrix product, then a selection in two passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headatlas.numeric.threads import single_thread

F = np.float32
LOOSE = {"contract", "reassoc", "nsz"}  # sums may be reordered, so that they are vectorized
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True, "fastmath": LOOSE}
# Always inlined, so that one body is compiled, whether this process compiles the kernel or loads it from the cache.
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "fastmath": LOOSE}
HELD = 4_000_000  # products held at a time
GROUPS = 4  # of points, for each neighbor


@njit(**PART)
def _limit(row: Any, least: Any, k: int) -> Any:
    """A distance that at least k points do not exceed, and few others: the k-th smallest of the least in each group."""
    width = least.shape[0]
    for g in range(width):
        least[g] = row[g]
    for start in range(width, row.shape[0], width):
        for g in range(min(width, row.shape[0] - start)):
            least[g] = min(least[g], row[start + g])
    return np.partition(least, k - 1)[k - 1]


@njit(**PART)
def _within(row: Any, limit: Any, k: int, candidates: Any) -> Any:
    """Fill `candidates` with the points nearer than a limit; those at the limit only until there are k."""
    count = 0
    for j in range(row.shape[0]):
        if row[j] < limit:
            candidates[count] = j
            count += 1
    for j in range(row.shape[0]):
        if count >= k:
            break
        if row[j] == limit:
            candidates[count] = j
            count += 1
    return count


@njit(**HOW)
def _select(products: Any, norms: Any, vectors: Any, first: int, chosen: Any, squares: Any) -> None:
    """Fill `chosen` and `squares` (row, neighbor): the nearest points and squared distances, nearest first."""
    n, k = norms.shape[0], chosen.shape[1]
    least, row = np.empty(min(n, GROUPS * k), np.float32), np.empty(n, np.float32)
    candidates, exact = np.empty(n, np.int64), np.empty(n, np.float32)
    for r in range(products.shape[0]):
        for j in range(n):
            row[j] = norms[j] - F(2) * products[r, j]
        row[first + r] = F(np.inf)
        count = _within(row, _limit(row, least, k), k, candidates)
        for c in range(count):
            total = F(0)
            for feature in range(vectors.shape[1]):
                step = vectors[first + r, feature] - vectors[candidates[c], feature]
                total += step * step
            exact[c] = total
        order = np.argsort(exact[:count], kind="mergesort")
        for c in range(k):
            chosen[r, c] = candidates[order[c]]
            squares[r, c] = exact[order[c]]


def nearest(vectors: NDArray[np.float32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k nearest other points of each point, and their squared distances, (point, neighbor); nearest first."""
    n = len(vectors)
    centered = np.ascontiguousarray(vectors - vectors.mean(0, dtype=np.float64), np.float32)  # less is rounded off
    norms = (centered * centered).sum(1)
    chosen, squares = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    size = max(1, HELD // n)
    with single_thread():
        for first in range(0, n, size):
            part = slice(first, first + size)
            products = centered[part] @ centered.T
            _select(products, norms, centered, first, chosen[part], squares[part])
    return chosen, squares
