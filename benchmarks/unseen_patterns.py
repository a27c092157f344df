"""Generated maps of patterns that no encoder was trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import headatlas as ha
from headatlas.models.encode import Tokens
from headatlas.stages.collect import kernel
from headatlas.stages.collect.layout import text_layout
from headatlas.stages.collect.stat_axis import Statistics, statistics_of
from headatlas.stages.features.patterns import NOISE, TOKENS

Maps = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Patterns:
    """Generated maps as `collect` would store them, and the generator of each."""

    pooled: NDArray[np.float32]  # (map, query, key)
    stats: NDArray[np.float32]  # (map, statistic)
    statistics: tuple[str, ...]
    labels: NDArray[np.int64]


def unseen(count: int, seed: int = 0, r: int = 32) -> Patterns:
    """Maps of all generators in turn, on texts of random tokens.

    >>> patterns = unseen(14)
    >>> patterns.pooled.shape, patterns.labels[:8].tolist(), bool(np.allclose(patterns.pooled.sum(-1), 1, atol=1e-5))
    ((14, 32, 32), [0, 1, 2, 3, 4, 5, 6, 0], True)
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(GENERATORS)
    generators = list(GENERATORS.values())
    statistics = statistics_of(ha.models.load("packaged"))
    pooled, stats = np.empty((count, r, r), np.float32), np.empty((count, len(statistics.names)), np.float32)
    for number, label in enumerate(labels):
        n = int(rng.integers(TOKENS[0], TOKENS[1] + 1))
        share = rng.uniform(0, NOISE)
        noise = np.exp(2 * rng.standard_normal((n, n)))
        attention = (1 - share) * _rows(generators[label](n, rng)) + share * _rows(noise)
        pooled[number], stats[number] = reduced(attention[None], random_tokens(n, rng), statistics, r)
    return Patterns(pooled, stats, statistics.names, labels)


def random_tokens(n: int, rng: Rng) -> Tokens:
    """Tokens without special ones, each of which occurs about three times."""
    ids = rng.integers(1000, 1000 + max(2, n // 3), n).astype(np.int32)
    blank = np.zeros(n, np.int32)
    return Tokens(ids, [f"t{number}" for number in ids], blank, blank > 0, blank.astype(np.int8), blank, blank)


def reduced(attention: Maps, tokens: Tokens, statistics: Statistics, r: int) -> tuple[Maps, Maps]:
    """Pooled map and statistics of one map (1, query, key), by the kernel of `collect`."""
    n = len(tokens)
    with np.errstate(divide="ignore"):
        scores = np.log(attention).astype(np.float32)
    layout = text_layout(tokens, tokens, statistics.specials, statistics.separator, r, False)
    pooled, sums, last = np.empty((1, r, r), np.float32), np.empty((1, statistics.count)), np.full(n, n)
    kernel.reduce_heads(scores, np.stack([np.zeros(n, np.int64), last]), last, layout, pooled, sums)
    return pooled[0], statistics.from_sums(sums, "encoder", n)[0]


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
