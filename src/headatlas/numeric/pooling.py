"""Pooling: a map of any size as a map of `resolution` × `resolution` bins.

Queries and keys are equal cells of the unit interval. Attention is averaged over the queries and summed over the keys
that overlap a bin, so that rows keep their sum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Number = TypeVar("Number", bound=np.floating[Any])


def overlaps(cells: int, bins: int) -> Ints:
    """How `cells` equal cells overlap `bins` equal bins of the same interval, in units of 1 / (cells · bins).

    >>> overlaps(2, 3)  # (cell, bin)
    array([[2, 1, 0],
           [0, 1, 2]])
    """
    cell = np.arange(cells)[:, None]
    bin_ = np.arange(bins)[None, :]
    low = np.maximum(cell * bins, bin_ * cells)
    high = np.minimum((cell + 1) * bins, (bin_ + 1) * cells)
    shared: Ints = np.maximum(high - low, 0)
    return shared


def pool(maps: NDArray[Number], resolution: int) -> NDArray[Number]:
    """Maps (…, query, key) pooled to (…, resolution, resolution).

    >>> pool(np.eye(4), 2)
    array([[1., 0.],
           [0., 1.]])
    """
    queries, keys = maps.shape[-2:]
    rows, columns = pooling_matrices(queries, keys, resolution)
    pooled: NDArray[Number] = rows.astype(maps.dtype) @ maps @ columns.astype(maps.dtype)
    return pooled


def pooling_matrices(queries: int, keys: int, resolution: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a map is multiplied by: (bin, query) from the left, whose rows sum to 1, and (key, bin) from the right."""
    return overlaps(queries, resolution).T / queries, overlaps(keys, resolution) / resolution


@lru_cache(maxsize=1024)
def pooling_rows(queries: int, resolution: int) -> tuple[Ints, Floats]:
    """For each query the first bin it overlaps, and its weight in that bin and the following ones."""
    return _packed(overlaps(queries, resolution) / queries)


@lru_cache(maxsize=1024)
def pooling_columns(keys: int, resolution: int) -> tuple[Ints, Floats]:
    """For each bin the first key that overlaps it, and the share of that key and the following ones."""
    return _packed(overlaps(keys, resolution).T / resolution)


def _packed(dense: NDArray[np.float64]) -> tuple[Ints, Floats]:
    """Rows of a band matrix as (start of each row, values from there on)."""
    first = (dense > 0).argmax(1)
    width = int((dense > 0).sum(1).max())
    weights = np.zeros((len(dense), width), np.float32)
    for row, start in enumerate(first):
        values = dense[row, start : start + width]
        weights[row, : len(values)] = values
    return first.astype(np.int64), weights
