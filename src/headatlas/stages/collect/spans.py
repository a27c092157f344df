"""Attention between spans: for each two kinds, the mean over queries of one of the mass on keys of the other.

Tokens of a span are mostly side by side, so a row is summed run by run, while it is still in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headatlas.models.encode import Tokens
from headatlas.stages.collect.kernel import HOW, LOOSE

Ints = NDArray[np.int64]


def codes(tokens: Tokens, kinds: Sequence[str]) -> Ints:
    """The kind of each token's span; -1 for none.

    >>> none = np.zeros(3, np.int32)
    >>> span = ["answer", None, "question"]
    >>> codes(Tokens(none, [""] * 3, none, none > 0, none, none, none, span), ["question", "answer"])
    array([ 1, -1,  0])
    """
    places = {name: place for place, name in enumerate(kinds)}
    return np.array([places.get(name or "", -1) for name in tokens.span or [None] * len(tokens)], np.int64)


def runs(kinds: Ints) -> Ints:
    """Runs of keys of one kind (run, 3): first key, one past the last, kind.

    >>> runs(np.array([0, 0, -1, 1])).tolist()
    [[0, 2, 0], [3, 4, 1]]
    """
    borders = np.flatnonzero(np.diff(kinds, prepend=-2, append=-2))
    all_runs = np.stack([borders[:-1], borders[1:], kinds[borders[:-1]]], 1)
    return np.ascontiguousarray(all_runs[all_runs[:, 2] >= 0])


class Between(NamedTuple):
    """The spans of a text's queries and keys."""

    queries: Ints  # (query,) kind of each; -1 for none
    runs: Ints  # of keys, see `runs`
    scale: NDArray[np.float64]  # (kind, kind) 1 / number of queries; NaN where there are no such queries or keys


def between(queries: Ints, keys: Ints, kinds: int) -> Between:
    """What attention between the spans of queries and keys is computed with."""
    from_kind, to_kind = (np.bincount(of[of >= 0], minlength=kinds)[:, None] for of in (queries, keys))
    exist = (from_kind > 0) & (to_kind.T > 0)
    return Between(queries, runs(keys), np.where(exist, 1 / np.maximum(from_kind, 1), np.nan))


def span_means(attention: NDArray[np.float32], spans: Between) -> NDArray[np.float32]:
    """Attention (head, kind · kind) between kinds of spans; NaN where there are no such queries or keys.

    >>> attention = np.array([[[0.5, 0.25, 0.25], [0, 1, 0], [0, 0.5, 0.5]]], np.float32)
    >>> of = np.array([0, 1, 1])
    >>> span_means(attention, between(of, of, 2)).tolist()
    [[0.5, 0.5, 0.0, 1.0]]
    """
    sums = np.zeros((len(attention), *spans.scale.shape))
    add_spans(attention, spans.queries, spans.runs, sums)
    return (sums * spans.scale).reshape(len(attention), -1).astype(np.float32)


@njit(fastmath=LOOSE, **HOW)
def add_spans(attention: Any, queries: Any, key_runs: Any, sums: Any) -> None:
    """Add the mass on keys of each kind to the sums (head, kind of query, kind of key)."""
    for h in range(attention.shape[0]):
        for i in range(attention.shape[1]):
            if queries[i] >= 0:
                for r in range(key_runs.shape[0]):
                    run = attention[h, i, key_runs[r, 0] : key_runs[r, 1]]  # a slice: its loop is vectorized
                    total = np.float32(0)
                    for j in range(run.shape[0]):
                        total += run[j]
                    sums[h, queries[i], key_runs[r, 2]] += total
