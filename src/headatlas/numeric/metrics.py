"""Pure functions on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def weighted_mean(values: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over the first axis.

    >>> weighted_mean(np.array([[1.0, 2.0], [4.0, 5.0]]), np.array([2, 1]))
    array([2., 3.])
    """
    return np.tensordot(weights / weights.sum(), values.astype(np.float64), 1)


def head_retrieval(
    vectors: NDArray[Any], *, queries: int | None = None, seed: int = 0, bootstrap: int = 1000
) -> tuple[float, float, float]:
    """How often the nearest neighbour of a map, by cosine among maps of other examples, is of the same head.

    `vectors` is (example, head, feature), heads of all layers in a row; vectors with NaN are left out. All maps are
    asked for, or as many `queries` drawn with `seed`. Gives the score and its 95 % interval, by bootstrap over the
    examples. Memory beyond the vectors does not grow with their number.

    >>> two_heads = np.array([[[1.0, 0.1], [0.1, 1.0]], [[1.0, 0.2], [0.2, 1.0]]])
    >>> head_retrieval(two_heads, bootstrap=100)
    (1.0, 1.0, 1.0)
    """
    examples, heads = vectors.shape[:2]
    flat = vectors.reshape(examples * heads, -1).astype(np.float32)
    known: NDArray[np.bool_] = np.asarray(~np.isnan(flat).any(1))
    flat = np.where(known[:, None], flat, 0)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    dice = np.random.default_rng(seed)
    asked = np.flatnonzero(known)
    if queries is not None and queries < len(asked):
        asked = np.sort(dice.choice(asked, queries, replace=False))
    right = _nearest_elsewhere(flat, known, asked, heads) % heads == asked % heads
    hits, counts = (np.bincount(asked // heads, weights, examples) for weights in (right, None))
    if len(np.unique(np.flatnonzero(known) // heads)) < 2:
        return np.nan, np.nan, np.nan
    there = np.flatnonzero(counts)
    drawn = dice.choice(there, (bootstrap, len(there)))
    low, high = np.percentile(hits[drawn].sum(1) / counts[drawn].sum(1), [2.5, 97.5])
    return float(hits.sum() / counts.sum()), float(low), float(high)


def _nearest_elsewhere(
    unit: NDArray[np.float32], known: NDArray[np.bool_], asked: NDArray[np.int64], heads: int
) -> NDArray[np.int64]:
    """For each row asked for, the row with the largest dot product among those of other examples."""
    nearest = np.zeros(len(asked), np.int64)
    step = max(1, 2**24 // len(unit))
    for start in range(0, len(asked), step):
        rows = asked[start : start + step]
        similar = unit[rows] @ unit.T
        similar[:, ~known] = -np.inf
        own = rows[:, None] // heads * heads + np.arange(heads)
        np.put_along_axis(similar, own, -np.inf, 1)
        nearest[start : start + step] = similar.argmax(1)
    return nearest
