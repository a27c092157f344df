"""Maps whose pattern is known, made by rule: to test encoders and clusterings where the right answer is certain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.numeric.pooling import pool

Maps = NDArray[np.float64]
Dice = np.random.Generator

TOKENS = (20, 96)  # in longer texts the previous token and the token itself fall into one bin
NOISE = 0.4  # at most this share of a map's mass lies anywhere


def patterns(count: int, seed: int = 0, r: int = 32) -> tuple[NDArray[np.float32], NDArray[np.int64], tuple[str, ...]]:
    """Pooled maps (count, r, r) of all generators in turn, the number of each map's generator, and their names.

    Token counts, positions, widths and a share of noise are drawn with `seed`. Every row sums to 1.

    >>> maps, labels, names = patterns(22)
    >>> maps.shape, names[labels[0]], int(labels[11])
    ((22, 32, 32), 'previous', 0)
    """
    if count < 1 or r < 2:
        raise OptionError("count must be at least 1, and the side of the maps r at least 2")
    dice = np.random.default_rng(seed)
    labels = np.arange(count) % len(GENERATORS)
    names = tuple(GENERATORS)
    maps = np.stack([_one(names[label], r, dice) for label in labels])
    return maps.astype(np.float32), labels, names


def _one(name: str, r: int, dice: Dice) -> Maps:
    n = int(dice.integers(TOKENS[0], TOKENS[1] + 1))
    share = dice.uniform(0, NOISE)
    return pool((1 - share) * GENERATORS[name](n, dice) + share * _noise(n, dice), r)


def _offset(by: int) -> Callable[[int, Dice], Maps]:
    def generate(n: int, dice: Dice) -> Maps:
        """Each query at the key so far away; at the edge, where there is none, at itself."""
        places = np.arange(n) + by
        return np.eye(n)[np.where((places >= 0) & (places < n), places, np.arange(n))]

    return generate


def _columns(n: int, places: NDArray[np.int64], weights: NDArray[np.float64]) -> Maps:
    """All queries at the same keys."""
    row = np.zeros(n)
    row[places] = weights / weights.sum()
    return np.tile(row, (n, 1))


def _first(n: int, dice: Dice) -> Maps:
    return _columns(n, np.array([0]), np.ones(1))


def _separator(n: int, dice: Dice) -> Maps:
    """The last token, as in a text, or that and one in the middle, as in a pair of texts."""
    if dice.random() < 0.5:
        return _columns(n, np.array([n - 1]), np.ones(1))
    return _columns(n, np.array([dice.integers(n // 4, n // 2), n - 1]), dice.uniform([0.3, 1], [1, 1.7]))


def _uniform(n: int, dice: Dice) -> Maps:
    return np.full((n, n), 1 / n)


def _block(n: int, dice: Dice) -> Maps:
    """Each query at its own segment of two to five, all alike."""
    cuts = np.sort(dice.choice(np.arange(n // 8, n - n // 8), dice.integers(1, 5), replace=False))
    return _alike(np.searchsorted(cuts, np.arange(n), side="right"))


def _stripes(n: int, dice: Dice) -> Maps:
    """A few keys anywhere inside the text, as a head that looks at full stops has them."""
    places = dice.choice(np.arange(1, n - 1), dice.integers(3, 8), replace=False)
    return _columns(n, places, dice.uniform(0.3, 1, len(places)))


def _same(n: int, dice: Dice) -> Maps:
    """Each query at all tokens that are the same as itself; each token is there about five times."""
    return _alike(dice.integers(0, max(2, n // 5), n))


def _alike(kinds: NDArray[np.int64]) -> Maps:
    return _rows_to_one((kinds[:, None] == kinds[None]).astype(np.float64))


def _rows_to_one(weights: Maps) -> Maps:
    shares: Maps = weights / weights.sum(1, keepdims=True)
    return shares


def _local(n: int, dice: Dice) -> Maps:
    """All keys within a window on both sides, alike."""
    width = int(dice.integers(max(2, n // 16), n // 8 + 1))
    away = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    return _rows_to_one((away <= width).astype(np.float64))


def _noise(n: int, dice: Dice) -> Maps:
    """Weights with a long tail, of no pattern."""
    return _rows_to_one(np.exp(2 * dice.standard_normal((n, n))))


GENERATORS: dict[str, Callable[[int, Dice], Maps]] = {
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
