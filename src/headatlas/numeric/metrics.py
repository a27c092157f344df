"""Means, entropy, intervals, and how well vectors identify heads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (2.5, 97.5)  # of a 95 % interval


def weighted_mean(values: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over the first axis.

    >>> weighted_mean(np.array([[1.0, 2.0], [4.0, 5.0]]), np.array([2, 1]))
    array([2., 3.])
    """
    return np.tensordot(weights / weights.sum(), values.astype(np.float64), 1)


def entropy(shares: NDArray[Any]) -> NDArray[np.float64]:
    """Entropy over the last axis, in nats.

    >>> entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])).round(3)
    array([0.693, 0.   ])
    """
    nats: NDArray[np.float64] = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(-1)
    return nats + 0.0  # turns -0.0 into 0.0


def jensen_shannon(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Jensen–Shannon divergence over the last axis, in nats: 0 for equal shares, ln 2 for disjoint ones.

    >>> jensen_shannon(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.0, 1.0]])).round(3)
    array([0.   , 0.693])
    """
    first, second = first.astype(np.float64), second.astype(np.float64)
    excess = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    return np.maximum(excess, 0)  # rounding can make it negative


def interval(draws: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95 % interval of bootstrap draws over the first axis; NaN where all draws are NaN, or there are none.

    >>> [float(bound) for bound in interval(np.arange(41.0))]
    [1.0, 39.0]
    """
    if len(draws) == 0:
        empty = np.full(draws.shape[1:], np.nan)
        return empty, empty
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of all draws being NaN
        low, high = np.nanpercentile(draws, PERCENTILES, 0)
    return low, high


def head_retrieval(
    vectors: NDArray[Any], *, queries: int | None = None, seed: int = 0, bootstrap: int = 1000
) -> tuple[float, float, float]:
    """How often the nearest neighbor of a map, by cosine among maps of other examples, belongs to the same head.

    Memory beyond the vectors does not grow with their number.

    >>> two_heads = np.array([[[1.0, 0.1], [0.1, 1.0]], [[1.0, 0.2], [0.2, 1.0]]])
    >>> head_retrieval(two_heads, bootstrap=100)
    (1.0, 1.0, 1.0)

    Parameters
    ----------
    vectors : array (example, head, feature)
        Heads of all layers in a row; vectors with NaN are left out.
    queries : int, optional
        Number of maps to look up, drawn with `seed`; all if not given.
    seed : int
        Random seed.
    bootstrap : int
        Number of bootstrap samples of the examples, for the interval.

    Returns
    -------
    score, low, high : float
        The share of maps, and its 95 % interval; NaN if fewer than two examples have vectors.
    """
    examples, heads = vectors.shape[:2]
    flat = vectors.reshape(examples * heads, -1).astype(np.float32)
    known: NDArray[np.bool_] = np.asarray(~np.isnan(flat).any(1))
    flat = np.where(known[:, None], flat, 0)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(known)
    if len(np.unique(rows // heads)) < 2:
        return np.nan, np.nan, np.nan
    if queries is not None and queries < len(rows):
        rows = np.sort(rng.choice(rows, queries, replace=False))
    same_head = _nearest_elsewhere(flat, known, rows, heads) % heads == rows % heads
    hits, counts = (np.bincount(rows // heads, weights, examples) for weights in (same_head, None))
    queried = np.flatnonzero(counts)
    drawn = rng.choice(queried, (bootstrap, len(queried)))
    low, high = interval(hits[drawn].sum(1) / counts[drawn].sum(1))
    return float(hits.sum() / counts.sum()), float(low), float(high)


def _nearest_elsewhere(
    unit: NDArray[np.float32], known: NDArray[np.bool_], queries: NDArray[np.int64], heads: int
) -> NDArray[np.int64]:
    """For each query the row with the largest dot product among the rows of other examples."""
    nearest = np.zeros(len(queries), np.int64)
    step = max(1, 2**24 // len(unit))
    for start in range(0, len(queries), step):
        rows = queries[start : start + step]
        similarity = unit[rows] @ unit.T
        similarity[:, ~known] = -np.inf
        same_example = rows[:, None] // heads * heads + np.arange(heads)
        np.put_along_axis(similarity, same_example, -np.inf, 1)
        nearest[start : start + step] = similarity.argmax(1)
    return nearest
