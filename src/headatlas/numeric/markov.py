"""An attention map as a Markov chain: rows are the probabilities of the next place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS, SQUARED, SETTLED = 16, 14, 1e-12  # steps before the chain is squared, how often that is, and when it is still


def effective_rank(maps: NDArray[Any]) -> Floats:
    """exp of the entropy of the normalized singular values of maps (…, query, key): 1 if all rows are equal.

    >>> effective_rank(np.array([np.eye(4), np.full((4, 4), 0.25)])).round(6).tolist()
    [4.0, 1.0]
    """
    values = np.linalg.svd(maps.astype(np.float64), compute_uv=False)
    shares = values / values.sum(-1, keepdims=True)
    logs = np.log(np.where(shares > 0, shares, 1))
    rank: Floats = np.exp(-(shares * logs).sum(-1))
    return rank


def spectral_gap(maps: NDArray[Any], causal: bool) -> Floats:
    """1 − |second eigenvalue| of square maps (…, query, key): how fast the chain forgets where it started.

    The eigenvalues of a causal map are its diagonal.

    >>> float(spectral_gap(np.array([[0.9, 0.1], [0.2, 0.8]]), causal=False).round(6))
    0.3
    """
    exact = maps.astype(np.float64)
    values = np.diagonal(exact, axis1=-2, axis2=-1) if causal else np.linalg.eigvals(exact)
    sizes = np.sort(np.abs(values), axis=-1)
    if sizes.shape[-1] < 2:
        return np.full(sizes.shape[:-1], np.nan)
    gap: Floats = 1 - sizes[..., -2]
    return gap


def stationary(maps: NDArray[Any]) -> Floats:
    """π with π A = π of square maps (…, query, key): where the chain is in the long run; sums to 1.

    Each step is averaged with staying in place, which changes no π but ends oscillations. A map that forgets slowly
    would need thousands of steps, so after every few of them the chain is squared: a step is then worth two.

    >>> stationary(np.array([[0.9, 0.1], [0.2, 0.8]])).round(6).tolist()
    [0.666667, 0.333333]
    """
    exact = maps.astype(np.float64)
    lazy = (exact + np.eye(exact.shape[-1])) / 2
    place: Floats = np.full((*exact.shape[:-2], 1, exact.shape[-1]), 1 / exact.shape[-1])
    for step in range(STEPS * SQUARED):
        following = place @ lazy
        moved = float(np.abs(following - place).max())
        place = following
        if moved < SETTLED:
            break
        if step % STEPS == STEPS - 1:
            lazy = lazy @ lazy
    result: Floats = place[..., 0, :] / place[..., 0, :].sum(-1, keepdims=True)
    return result
