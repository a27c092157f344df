"""Queries and keys moved into one space, without changing any attention map.

Adding a constant vector to all keys of a head adds the same number to all scores of a query, which the softmax ignores;
dividing queries and multiplying keys by the same number changes no score at all. So keys can be moved to where queries
are, and both can be made equally long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # (token, feature)
Exact = NDArray[np.float64]  # (token, feature): long vectors lose digits of their products in float32


def translated(query: NDArray[Any], key: NDArray[Any]) -> tuple[Exact, Exact]:
    """Keys with the mean of the queries in place of their own, and the translation.

    >>> keys, by = translated(np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 5.0], [0.0, 7.0]]))
    >>> keys.tolist(), by.tolist()
    ([[2.0, -1.0], [2.0, 1.0]], [2.0, -6.0])
    """
    by = query.mean(0, dtype=np.float64) - key.mean(0, dtype=np.float64)
    return key + by, by


def scaled(query: NDArray[Any], key: NDArray[Any], scale: float) -> tuple[Exact, Exact]:
    """Queries divided and keys multiplied by the scale: all products stay the same."""
    return query.astype(np.float64) / scale, key.astype(np.float64) * scale


def closed_form(query: NDArray[Any], key: NDArray[Any]) -> float:
    """The scale that makes queries and keys equally long, by their median norms; 1 where one of these is 0.

    >>> closed_form(np.array([[4.0, 0.0]]), np.array([[0.0, 1.0]])), closed_form(np.zeros((1, 2)), np.ones((1, 2)))
    (2.0, 1.0)
    """
    norms = [float(np.median(np.linalg.norm(vectors.astype(np.float64), axis=1))) for vectors in (query, key)]
    return float(np.sqrt(norms[0] / norms[1])) if min(norms) > 0 else 1.0
