"""Attention by distance and by key: how much goes how far, what distance or the key explains, and what is beyond it.

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
BY_KEY, BY_DISTANCE, COLUMNS, REACH, DIRECTION, FIRST_WINDOW = range(6)
FIRST_BEYOND = FIRST_WINDOW + len(WINDOWS)
AROUND = 8  # keys on each side that a key is compared with
CHANCE = 2.0  # deviations by which it must exceed them
FAINT = 0.01  # attention of a query to inner keys below which nothing is said about its distance
FAINTEST = 1e-20  # sum of squares of attention to inner keys below which distance explains nothing: they may underflow
EDGES = np.array([sorted((near, far or math.copysign(ANY, near))) for near, far in WINDOWS], np.int64)


@njit(fastmath=LOOSE, **PART)
def add_row(row: Any, inner: Any, profile: Any, squares: Any) -> None:
    """Add a row to the attention by distance, and its squares to those of each key."""
    for j in range(row.shape[0]):
        profile[j] += row[j] * inner[j]
        squares[j] += row[j] * row[j]


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
def by_key(sums: Any, queries: Any, squares: Any) -> float:
    """Share of the squares that is left if each weight is replaced by the mean weight of its key."""
    total, whole = 0.0, 0.0
    for j in range(sums.shape[0]):
        total += sums[j] * sums[j] / queries[j]
        whole += squares[j]
    return total / whole


@njit(**PART)
def by_distance(profile: Any, pairs: Any, squares: Any, inner: Any) -> float:
    """Share of the squares of inner keys that is left if each weight is replaced by the mean weight at its distance."""
    total, whole = 0.0, 0.0
    for d in range(pairs.shape[0]):
        if pairs[d] > 0:
            total += profile[d] * profile[d] / pairs[d]
    for j in range(inner.shape[0]):
        whole += squares[j] * inner[j]
    return total / whole if whole > FAINTEST else math.nan


@njit(**PART)
def columns(sums: Any, squares: Any, counted: Any, queries: int) -> float:
    """Mean attention of a query to counted keys, as far as these stand out from others around them.

    A few queries that attend to the same key may do so by chance: if each chose keys by itself, the root of the sum of
    squares would be the deviation of a key's sum. So a key that few queries attend to, however strongly, has nothing.
    """
    total = 0.0
    for j in range(sums.shape[0]):
        if counted[j] > ZERO:
            around, keys = 0.0, 0
            for k in range(max(0, j - AROUND), min(sums.shape[0], j + AROUND + 1)):
                if counted[k] > ZERO and k != j:
                    around += sums[k]
                    keys += 1
            if keys:
                total += max(0.0, sums[j] - around / keys - CHANCE * math.sqrt(squares[j]))
    return total / queries


@njit(**PART)
def reach(profile: Any, queries: int, even: float) -> Any:
    """Mean distance of attention to inner keys against that of even attention, and how much more of it goes ahead."""
    ahead, behind, total = 0.0, 0.0, 0.0
    for d in range(profile.shape[0]):
        total += profile[d] * abs(d - queries + 1)
        if d > queries - 1:
            ahead += profile[d]
        elif d < queries - 1:
            behind += profile[d]
    mass = ahead + behind + profile[queries - 1]
    if even <= 0 or mass < FAINT * queries:  # too little to say where it goes
        return math.nan, math.nan
    return total / mass / even, (ahead - behind) / (ahead + behind) if ahead + behind > 0 else math.nan


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


@njit(**PART)
def summarize(out: Any, bins: Any, squares: Any, profile: Any, beyond: Any, layout: Any, queries: int) -> None:
    """Everything that is measured by distance and by key, of one head."""
    sums, relations = key_sums(bins, queries), layout.relations[0].shape[0]
    out[BY_KEY] = by_key(sums, layout.key_queries, squares)
    out[BY_DISTANCE] = by_distance(profile, layout.pairs[0], squares, layout.inner)
    out[COLUMNS] = columns(sums, squares, layout.counted, queries)
    out[REACH], out[DIRECTION] = reach(profile, queries, layout.even)
    sum_windows(profile, queries, out[FIRST_WINDOW:])
    rest = out[FIRST_BEYOND:]
    beyond_distance(rest, beyond, relations, sums, layout.inner_marks, profile, layout.pairs, queries)
