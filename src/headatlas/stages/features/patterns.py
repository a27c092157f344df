"""Synthetic maps with known patterns, to test encoders and clusterings against a known answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.numeric.pooling import pool

Maps = NDArray[np.float64]
Rng = np.random.Generator

TOKENS = (20, 96)  # in longer texts the previous token and the token itself fall in the same bin
NOISE = 0.4  # at most this share of a map is noise


def patterns(count: int, seed: int = 0, r: int = 32) -> tuple[NDArray[np.float32], NDArray[np.int64], tuple[str, ...]]:
    """Pooled maps (count, r, r) of all generators in turn, the generator number of each map, and the names.

    Token counts, positions, widths and the share of noise are random, with `seed`. Every row sums to 1.

    >>> maps, labels, names = patterns(22)
    >>> maps.shape, names[labels[0]], int(labels[11])
    ((22, 32, 32), 'previous', 0)
    """
    if count < 1 or r < 2:
        raise OptionError("count must be at least 1, and the side of the maps r at least 2")
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(GENERATORS)
    names = tuple(GENERATORS)
    maps = np.stack([_pattern(names[label], r, rng) for label in labels])
    return maps.astype(np.float32), labels, names


def _pattern(name: str, r: int, rng: Rng) -> Maps:
    n = int(rng.integers(TOKENS[0], TOKENS[1] + 1))
    share = rng.uniform(0, NOISE)
    return pool((1 - share) * GENERATORS[name](n, rng) + share * _noise(n, rng), r)


def _offset(by: int) -> Callable[[int, Rng], Maps]:
    def generate(n: int, rng: Rng) -> Maps:
        """Each query attends to the key at this offset; at the edge, to itself."""
        places = np.arange(n) + by
        return np.eye(n)[np.where((places >= 0) & (places < n), places, np.arange(n))]

    return generate


def _columns(n: int, places: NDArray[np.int64], weights: NDArray[np.float64]) -> Maps:
    """All queries attend to the same keys."""
    row = np.zeros(n)
    row[places] = weights / weights.sum()
    return np.tile(row, (n, 1))


def _first(n: int, rng: Rng) -> Maps:
    return _columns(n, np.array([0]), np.ones(1))


def _separator(n: int, rng: Rng) -> Maps:
    """The last token, as in a single text, or also one in the middle, as in a pair of texts."""
    if rng.random() < 0.5:
        return _columns(n, np.array([n - 1]), np.ones(1))
    return _columns(n, np.array([rng.integers(n // 4, n // 2), n - 1]), rng.uniform([0.3, 1], [1, 1.7]))


def _uniform(n: int, rng: Rng) -> Maps:
    return np.full((n, n), 1 / n)


def _block(n: int, rng: Rng) -> Maps:
    """Each query attends evenly to its segment, one of two to five."""
    cuts = np.sort(rng.choice(np.arange(n // 8, n - n // 8), rng.integers(1, 5), replace=False))
    return _alike(np.searchsorted(cuts, np.arange(n), side="right"))


def _stripes(n: int, rng: Rng) -> Maps:
    """A few keys inside the text, as for a head that attends to periods."""
    places = rng.choice(np.arange(1, n - 1), rng.integers(3, 8), replace=False)
    return _columns(n, places, rng.uniform(0.3, 1, len(places)))


def _same(n: int, rng: Rng) -> Maps:
    """Each query attends to all equal tokens; each token occurs about five times."""
    return _alike(rng.integers(0, max(2, n // 5), n))


def _alike(kinds: NDArray[np.int64]) -> Maps:
    return _rows_to_pattern((kinds[:, None] == kinds[None]).astype(np.float64))


def _rows_to_pattern(weights: Maps) -> Maps:
    shares: Maps = weights / weights.sum(1, keepdims=True)
    return shares


def _local(n: int, rng: Rng) -> Maps:
    """Each query attends evenly to a window on both sides."""
    width = int(rng.integers(max(2, n // 16), n // 8 + 1))
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    return _rows_to_pattern((distance <= width).astype(np.float64))


def _noise(n: int, rng: Rng) -> Maps:
    """Long-tailed weights without a pattern."""
    return _rows_to_pattern(np.exp(2 * rng.standard_normal((n, n))))


GENERATORS: dict[str, Callable[[int, Rng], Maps]] = {
    "previous": _offset(-1),
    "next": _offset(1),
    "self": _offset(0),
    "first": _first,
    "separator": _separator,
    "uniform": _uniform,
    "block": _block,
    "stripes": _stripes,
    "same": _same,
    "local": _local,
    "noise": _noise,
}
