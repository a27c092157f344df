"""Generated maps of patterns that no encoder was trained on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.pooling import pool
from headatlas.stages.features.patterns import NOISE, TOKENS

Maps = NDArray[np.float64]
Rng = np.random.Generator


def unseen(count: int, seed: int = 0, r: int = 32) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Pooled maps (count, r, r) of all generators in turn, and the generator of each.

    >>> maps, labels = unseen(14)
    >>> maps.shape, labels[:8].tolist(), bool(np.allclose(maps.sum(-1), 1, atol=1e-5))
    ((14, 32, 32), [0, 1, 2, 3, 4, 5, 6, 0], True)
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(GENERATORS)
    generators = list(GENERATORS.values())
    maps = []
    for label in labels:
        n = int(rng.integers(TOKENS[0], TOKENS[1] + 1))
        share = rng.uniform(0, NOISE)
        noise = np.exp(2 * rng.standard_normal((n, n)))
        maps.append(pool((1 - share) * _rows(generators[label](n, rng)) + share * _rows(noise), r))
    return np.stack(maps).astype(np.float32), labels


def _rows(weights: Maps) -> Maps:
    shares: Maps = weights / weights.sum(1, keepdims=True)
    return shares


def _distance(n: int) -> NDArray[np.int64]:
    return np.arange(n)[None] - np.arange(n)[:, None]


def _mirror(n: int, rng: Rng) -> Maps:
    """Each query attends to the key as far from the end as it is from the start."""
    return np.eye(n)[::-1] + 1e-6


def _comb(n: int, rng: Rng) -> Maps:
    """Every fifth to eighth token, counted from the query."""
    return (_distance(n) % int(rng.integers(5, 9)) == 0) + 1e-6


def _all_before(n: int, rng: Rng) -> Maps:
    return np.tril(np.ones((n, n)))


def _segment_end(n: int, rng: Rng) -> Maps:
    """Each query attends to the last token of its segment, one of three to six."""
    cuts = np.sort(rng.choice(np.arange(n // 10, n - n // 10), rng.integers(2, 6), replace=False))
    ends = np.append(cuts, n) - 1
    return np.eye(n)[ends[np.searchsorted(cuts, np.arange(n), side="right")]] + 1e-6


def _fading(n: int, rng: Rng) -> Maps:
    """Attention that fades with the distance backward."""
    weights: Maps = np.where(_distance(n) <= 0, np.exp(_distance(n) / (n * rng.uniform(0.1, 0.25))), 1e-6)
    return weights


def _middle(n: int, rng: Rng) -> Maps:
    """All queries attend to a stretch in the middle."""
    place = np.abs(np.arange(n) - n * rng.uniform(0.4, 0.6))
    return np.tile(np.exp(-place / (n * rng.uniform(0.04, 0.1))), (n, 1))


def _halves(n: int, rng: Rng) -> Maps:
    """The first part attends to the second, and the other way around, as between two texts."""
    part = np.arange(n) >= n * rng.uniform(0.4, 0.6)
    return (part[:, None] != part[None]) + 1e-6


GENERATORS: dict[str, Callable[[int, Rng], Maps]] = {
    "mirror": _mirror,
    "comb": _comb,
    "all before": _all_before,
    "segment end": _segment_end,
    "fading": _fading,
    "middle": _middle,
    "halves": _halves,
}
