"""Compiled sums of squares between the values of a column, for many shuffles of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from headatlas.stages.correlate.shuffle import HOW


@njit(**HOW)
def between(x: Any, known: Any, codes: Any, kinds: int, largest: int) -> Any:
    """Sum of squares between the values, for each assignment of values to rows.

    Parameters
    ----------
    x : array (row, feature)
        Vectors whose known rows sum to zero. So the sum over the value `largest`, the most frequent one, follows from
        the other sums.
    known : array (row,)
        Rows that count.
    codes : array (assignment, row)
        The value of each row.
    kinds : int
        Number of values.
    largest : int
        Any value; fastest if it is the most frequent one.
    """
    width = x.shape[1]
    squares = np.empty(len(codes))
    sums = np.empty((kinds, width), np.float32)
    counts = np.empty(kinds, np.int64)
    for number in range(len(codes)):
        sums[:] = 0
        counts[:] = 0
        for row in range(len(x)):
            if known[row]:
                value = codes[number, row]
                counts[value] += 1
                if value != largest:
                    for j in range(width):
                        sums[value, j] += x[row, j]
        for value in range(kinds):
            if value != largest:
                for j in range(width):
                    sums[largest, j] -= sums[value, j]
        total = 0.0
        for value in range(kinds):
            if counts[value] > 0:
                square = 0.0
                for j in range(width):
                    square += sums[value, j] * sums[value, j]
                total += square / counts[value]
        squares[number] = total
    return squares


@njit(**HOW)
def between_each(x: Any, codes: Any, weights: Any, kinds: int) -> Any:
    """Sum of squares (assignment, feature) between the values, of each feature by itself.

    Parameters
    ----------
    x : array (row, feature)
        Numbers.
    codes, weights : array (assignment, row)
        The value of each row, and how often it counts; one assignment of either goes with all of the other.
    kinds : int
        Number of values.
    """
    features = x.shape[1]
    squares = np.zeros((max(len(codes), len(weights)) if len(weights) else 0, features))
    sums = np.empty((kinds, features))
    counts = np.empty(kinds)
    for number in range(len(squares)):
        values, times = codes[number % len(codes)], weights[number % len(weights)]
        sums[:] = 0
        counts[:] = 0
        for row in range(len(x)):
            weight = np.float64(times[row])
            if weight > 0:
                counts[values[row]] += weight
                for j in range(features):
                    sums[values[row], j] += weight * x[row, j]
        for value in range(kinds):
            if counts[value] > 0:
                for j in range(features):
                    squares[number, j] += sums[value, j] * sums[value, j] / counts[value]
    return squares
