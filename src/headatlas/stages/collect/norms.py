"""Norm-weighted attention: what a head moves is attention times the length of what the value becomes.

Only sums over queries are needed, so that one more pass over a map, while it is in the cache, is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from headatlas.models.model import Kind, Layer
from headatlas.models.value_norms import ValueNorms
from headatlas.stages.collect.kernel import HOW

Flags = NDArray[np.bool_]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Moved:
    """What the heads of a model move in the examples of a batch."""

    values: ValueNorms
    special: Callable[[int, Kind], Flags]  # which keys of an example are special tokens, in a kind of layer

    def lengths(self, e: int, layer: Layer, values: Tensor) -> Reals:
        """Lengths (head, key) of what the values (example, key head, key, feature) of an example become."""
        return self.values.lengths(layer, values[e, :, : len(self.special(e, layer.kind))])

    def statistics(self, e: int, layer: Layer, attention: NDArray[np.float32], lengths: Reals) -> NDArray[np.float32]:
        """Statistics (head, statistic) of some heads, whose lengths are given."""
        return moved_statistics(attention, lengths, self.special(e, layer.kind), square=layer.kind != "cross")


def moved_statistics(
    attention: NDArray[np.float32], lengths: Reals, special: Flags, *, square: bool
) -> NDArray[np.float32]:
    """Shares moved from the first token, other special tokens, the token itself and all others; and the mean length.

    In cross attention a token cannot be itself: NaN.

    >>> attention = np.array([[[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]]], np.float32)
    >>> moved_statistics(attention, np.array([[1.0, 2.0, 4.0]]), np.array([True, False, True]), square=True).round(3)
    array([[0.12 , 0.32 , 0.08 , 0.48 , 2.083]], dtype=float32)
    """
    to_keys, to_itself = np.zeros(lengths.shape), np.zeros(lengths.shape)
    add_keys(attention, square, to_keys, to_itself)
    moved, itself = to_keys * lengths, to_itself * lengths  # (head, key)
    other = np.array(special, bool)
    other[0] = False
    inner = ~other
    inner[0] = False
    inner_itself = itself[:, inner].sum(1)
    parts = [moved[:, 0], moved[:, other].sum(1), inner_itself, np.maximum(moved[:, inner].sum(1) - inner_itself, 0)]
    total = moved.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [part / total for part in parts]
    if not square:
        shares[2] = np.full(len(total), np.nan)
    return np.stack([*shares, total / attention.shape[1]], 1).astype(np.float32)


@njit(**HOW)
def add_keys(attention: Any, square: bool, to_keys: Any, to_itself: Any) -> None:
    """Add the attention of all queries to each key, and that of each token to itself (head, key)."""
    for h in range(attention.shape[0]):
        for i in range(attention.shape[1]):
            row, sums = attention[h, i], to_keys[h]
            for j in range(row.shape[0]):
                sums[j] += row[j]
            if square:
                to_itself[h, i] = row[i]
