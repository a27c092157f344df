"""Compiled shuffles that respect the design of the data, each giving one table of counts.

Random numbers are a function of (seed, number of the shuffle, example or head), so a table does not depend on which
thread makes it or in which order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

U = np.uint64
GOLDEN, FIRST, SECOND = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
HALF = U(32)
HOW: dict[str, Any] = {"nogil": True, "cache": True}
PART: dict[str, Any] = {"forceinline": True}  # see collect/kernel.py: one compiled body only


@njit(**PART)
def _mixed(state: Any) -> Any:
    """A number that looks random, from a counter (splitmix64)."""
    z = (state ^ (state >> U(30))) * FIRST
    z = (z ^ (z >> U(27))) * SECOND
    return z ^ (z >> U(31))


@njit(**PART)
def _shuffle_start(seed: Any, number: Any) -> Any:
    """Where the random numbers of one shuffle begin."""
    return _mixed(_mixed(U(seed) + GOLDEN) + GOLDEN * (U(number) + U(1)))


@njit(**PART)
def _start(seed: Any, number: Any, unit: Any) -> Any:
    """Where the random numbers of one unit of one shuffle begin."""
    return _mixed(_shuffle_start(seed, number) + GOLDEN * (U(unit) + U(1)))


@njit(**PART)
def _shuffle(values: Any, count: Any, state: Any) -> None:
    """Fisher and Yates, in place; the bias of at most count / 2**32 is far below what B shuffles can show."""
    for i in range(count - 1, 0, -1):
        state += GOLDEN
        j = ((_mixed(state) >> HALF) * U(i + 1)) >> HALF
        swapped = values[i]
        values[i] = values[j]
        values[j] = swapped


@njit(**HOW)
def within_rows(codes: Any, kinds: int, unit: Any, seed: int, number: int) -> Any:
    """Counts (column, code) after shuffling the labels (row, column) of each row over the columns it has.

    If rows are examples and columns are heads, labels are shuffled within examples; if rows are heads, within heads.
    Rows of one `unit` (row,) are shuffled in the same way, if they have the same columns.
    """
    rows, columns = codes.shape
    table = np.zeros((columns, kinds), np.int64)
    labels = np.empty(columns, np.int64)
    for r in range(rows):
        count = 0
        for c in range(columns):
            if codes[r, c] >= 0:
                labels[count] = codes[r, c]
                count += 1
        _shuffle(labels, count, _start(seed, number, unit[r]))
        count = 0
        for c in range(columns):
            if codes[r, c] >= 0:
                table[c, labels[count]] += 1
                count += 1
    return table


@njit(**PART)
def _permute(values: Any, members: Any, starts: Any, strata: Any, in_order: Any, start: Any, permuted: Any) -> None:
    """Write the values of one shuffle to `permuted`; arguments are those of `permuted_values`."""
    order = np.arange(len(starts) - 1)
    for t in range(len(strata) - 1):
        stratum = order[strata[t] : strata[t + 1]]
        _shuffle(stratum, len(stratum), _mixed(start + GOLDEN * (U(t) + U(1))))
    for g in range(len(starts) - 1):
        source = starts[order[g]]
        for at in range(starts[g], starts[g + 1]):
            permuted[members[at]] = values[members[source + (at - starts[g] if in_order else 0)]]


@njit(**HOW)
def permuted_values(
    values: Any,  # (example,) code of the column's value
    members: Any,  # examples, those of one group side by side, groups of one stratum side by side
    starts: Any,  # (group + 1,) where each group begins in `members`
    strata: Any,  # (stratum + 1,) where each stratum of groups begins
    in_order: bool,  # the groups of a stratum are of one size, and the values of their examples stay in order
    seed: int,
    numbers: Any,
) -> Any:
    """Values (shuffle, example) after shuffling them over the groups of each stratum, for the shuffles `numbers`."""
    permuted = np.empty((len(numbers), len(values)), np.int16)
    for at in range(len(numbers)):
        start = _shuffle_start(seed, numbers[at])
        _permute(values, members, starts, strata, in_order, start, permuted[at])
    return permuted


@njit(**HOW)
def values_over_groups(
    counts: Any,  # (example, code)
    values: Any,  # this and what follows: as for `permuted_values`
    members: Any,
    starts: Any,
    strata: Any,
    in_order: bool,
    kinds: int,  # number of values
    seed: int,
    number: int,
) -> Any:
    """Counts (value, code) after shuffling the values over the groups of each stratum."""
    table = np.zeros((kinds, counts.shape[1]), np.int64)
    permuted = np.empty(len(values), np.int64)
    _permute(values, members, starts, strata, in_order, _shuffle_start(seed, number), permuted)
    for e in range(len(values)):
        for c in range(counts.shape[1]):
            table[permuted[e], c] += counts[e, c]
    return table


@njit(**HOW)
def groups_within_rows(codes: Any, kinds: int, members: Any, starts: Any, strata: Any, seed: int, number: int) -> Any:
    """Counts (column, code) after shuffling the labels of each row over groups of columns of equal size.

    `members`, `starts` and `strata` are those of `permuted_values`; labels of a group stay in order.
    """
    rows, columns = codes.shape
    table = np.zeros((columns, kinds), np.int64)
    permuted = np.empty(columns, np.int64)
    for r in range(rows):
        _permute(codes[r], members, starts, strata, True, _start(seed, number, r), permuted)
        for c in range(columns):
            if permuted[c] >= 0:
                table[c, permuted[c]] += 1
    return table


@njit(**HOW)
def weighted_heads(codes: Any, weights: Any, kinds: int) -> Any:
    """Counts (slot, code) with each example counted as often as its weight says."""
    examples, slots = codes.shape
    table = np.zeros((slots, kinds), np.int64)
    for e in range(examples):
        for s in range(slots):
            if codes[e, s] >= 0:
                table[s, codes[e, s]] += weights[e]
    return table


@njit(**HOW)
def weighted_values(counts: Any, values: Any, weights: Any, kinds: int) -> Any:
    """Counts (value, code) from counts (example, code), weighted likewise."""
    table = np.zeros((kinds, counts.shape[1]), np.int64)
    for e in range(len(values)):
        for c in range(counts.shape[1]):
            table[values[e], c] += weights[e] * counts[e, c]
    return table
