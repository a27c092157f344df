"""Attention from queries and keys: the softmax of their products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def attention(query: NDArray[Any], key: NDArray[Any], scaling: float, causal: bool) -> Floats:
    """Attention (query, key) of queries and keys (token, feature); with `causal`, to no later token.

    There is none from a query, or to a key, that is not finite: a token that has no such vector in its layer.

    >>> attention(np.array([[0.0], [1.0]]), np.array([[0.0], [np.log(3)]]), 1.0, False).round(2)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    scores: Floats = query.astype(np.float64) @ key.astype(np.float64).T * scaling
    scores[~np.isfinite(scores)] = -np.inf
    if causal:
        scores[np.triu_indices_from(scores, 1)] = -np.inf
    top = scores.max(1, keepdims=True, initial=-np.inf)
    weights: Floats = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(1, keepdims=True)
    shares: Floats = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return shares
