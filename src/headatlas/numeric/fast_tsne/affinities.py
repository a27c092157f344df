"""The neighbor probabilities P: each point's neighbors weighted to a perplexity, made symmetric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from headatlas.numeric.fast_tsne.neighbors import nearest

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
STEPS, CLOSE = 100, 1e-5  # of the search, in the logarithm of the perplexity


@njit(**HOW)
def weigh(squares: Any, perplexity: float) -> Any:
    """Weights (point, neighbor) that sum to 1 for each point: exp(−β d²), with β such that they have this perplexity.

    Newton's method in β, kept between bounds: the entropy falls as β grows, by β times the variance of d².
    """
    n, k = squares.shape
    weights = np.empty((n, k), np.float32)
    target = math.log(perplexity)
    raw = np.empty(k)
    for i in range(n):
        least = np.float64(squares[i].min())
        mean = np.float64(squares[i].mean()) - least
        beta, low, high = 1 / mean if mean > 0 else 0.0, 0.0, math.inf
        for _ in range(STEPS):
            total, first, second = 0.0, 0.0, 0.0
            for j in range(k):
                d = np.float64(squares[i, j]) - least
                raw[j] = math.exp(-beta * d)
                total += raw[j]
                first += raw[j] * d
                second += raw[j] * d * d
            first /= total
            excess = math.log(total) + beta * first - target
            slope = beta * (second / total - first * first)
            if abs(excess) < CLOSE or mean <= 0:
                break
            if excess > 0:
                low = beta
            else:
                high = beta
            beta += excess / slope if slope > 0 else 0.0
            if not low < beta < high:
                beta = 2 * low if high == math.inf else (low + high) / 2
        for j in range(k):
            weights[i, j] = raw[j] / total
    return weights


def joint_probabilities(vectors: NDArray[np.float32], perplexity: float) -> sparse.csr_array:
    """P (point, point), symmetric, with sum 1: float32 in rows, without explicit zeros on the diagonal."""
    n = len(vectors)
    k = min(n - 1, int(3 * perplexity + 1e-6))
    neighbors, squares = nearest(vectors, k)
    weights = weigh(squares, perplexity)
    starts = np.arange(0, n * k + 1, k, dtype=np.int32)
    directed = sparse.csr_array((weights.ravel(), neighbors.ravel(), starts), shape=(n, n))
    both = directed + directed.T.tocsr()
    both.sort_indices()
    both.data /= both.data.sum(dtype=np.float64)
    return both
