"""Attention by distance: how much goes how far, what distance or the key explains, and what tokens have beyond it.

Attention by distance is a vector over j - i, summed over queries, without the first token and special tokens: attention
rests on those at any distance. The remaining keys are called inner.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

LOOSE = {"contract", "reassoc", "nsz"}
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}  # see `kernel`
ZERO = np.float32(0)
ANY = 1 << 40  # farther than any key

# places among the sums, after those of `kernel`
WINDOWS = ((-33, None), (-9, -32), (-5, -8), (5, 8), (9, 32), (33, None))
BY_KEY, BY_DISTANCE, FIRST_WINDOW = range(3)
FIRST_BEYOND = FIRST_WINDOW + len(WINDOWS)
EDGES = np.array([sorted((near, far or math.copysign(ANY, near))) for near, far in WINDOWS], np.int64)


@njit(fastmath=LOOSE, **PART)
def add_row(row: Any, inner: Any, profile: Any) -> Any:
    """Add a row to the attention by distance; returns the sum of all squares, and of those of inner keys."""
    squares, inner_squares = ZERO, ZERO
    for j in range(row.shape[0]):
        weight = row[j] * inner[j]
        profile[j] += weight
        squares += row[j] * row[j]
        inner_squares += weight * weight
    return squares, inner_squares


@njit(fastmath=LOOSE, **PART)
def key_sums(bins: Any, queries: int) -> Any:
    """Attention to each key, summed over queries, from rows that are averaged over queries in equal bins."""
    sums = np.zeros(bins.shape[1], np.float32)
    for a in range(bins.shape[0]):
        line = bins[a]
        for j in range(line.shape[0]):
            sums[j] += line[j]
    for j in range(sums.shape[0]):
        sums[j] *= np.float32(queries / bins.shape[0])
    return sums


@njit(**PART)
def by_key(sums: Any, queries: Any, squares: float) -> float:
    """Share of the squares that is left if each weight is replaced by the mean weight of its key."""
    total = 0.0
    for j in range(sums.shape[0]):
        total += sums[j] * sums[j] / queries[j]
    return total / squares


@njit(**PART)
def by_distance(profile: Any, pairs: Any, squares: float) -> float:
    """Share of the squares of inner keys that is left if each weight is replaced by the mean weight at its distance."""
    total = 0.0
    for d in range(pairs.shape[0]):
        if pairs[d] > 0:
            total += profile[d] * profile[d] / pairs[d]
    return total / squares if squares > 0 else math.nan


@njit(**PART)
def sum_windows(profile: Any, queries: int, out: Any) -> None:
    """Mean attention of a query to inner keys in each window of distances."""
    for w in range(EDGES.shape[0]):
        total = 0.0
        for d in range(max(0, EDGES[w, 0] + queries - 1), min(profile.shape[0] - 1, EDGES[w, 1] + queries - 1) + 1):
            total += profile[d]
        out[w] = total / queries


@njit(**PART)
def beyond_distance(
    out: Any, sums: Any, relations: int, key_sums: Any, marks: Any, profile: Any, pairs: Any, queries: int
) -> None:
    """Attention to related and to marked inner keys, less that of the same pairs if distance alone decided.

    `sums` has the attention to inner keys of each relation; `pairs` counts inner pairs at each distance: of all, of
    each relation, and of each mark.
    """
    starts, marked = marks
    for r in range(sums.shape[0]):
        total = sums[r]
        if r >= relations:
            for at in range(starts[r - relations], starts[r - relations + 1]):
                total += key_sums[marked[at]]
        for d in range(profile.shape[0]):
            if pairs[1 + r, d] > 0:
                total -= profile[d] * pairs[1 + r, d] / pairs[0, d]
        out[r] = total / queries
