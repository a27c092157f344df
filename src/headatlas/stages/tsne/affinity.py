"""From an attention map to the neighbor probabilities of t-SNE, with notes on them.

P = (A + Aᵀ) with a zero diagonal, divided by its sum: symmetric, not negative, zero on the diagonal, sum 1. A map of
cross attention makes points of queries and of keys: P is then A above and Aᵀ below, and 0 among queries and among keys.
Rows are not rescaled when tokens are dropped: a query that mostly attended to dropped tokens counts less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError
from headatlas.wording import percent

if TYPE_CHECKING:
    from headatlas.stages.tsne.reading import Side

FAINT = 0.01  # a pair below this share of even attention does not connect two points
LITTLE = 0.02  # less attention between points than this makes P nearly empty
HUB = 0.9  # more of P than this on the pairs of one point makes it a star

Map = NDArray[Any]
Points = NDArray[np.int64]
Unit = Literal["token", "word"]


class Empty(DataError):
    """No point attends to another: there is nothing to lay out."""


@dataclass(frozen=True)
class Affinity:
    """Neighbor probabilities (n, n) of the points of a map, and remarks on them in plain words.

    `mass` is the share of the map's attention that lies between different points and so went into P.
    """

    p: NDArray[np.float64]
    mass: float
    notes: tuple[str, ...] = ()


def affinity(
    attention: Map,
    *,
    queries: Points | None = None,
    keys: Points | None = None,
    cross: bool = False,
    names: list[str] | None = None,
) -> Affinity:
    """P of one map (query, key); `queries` and `keys` are the numbers of those to keep, all if not given.

    With `cross` the points are all kept queries, then all kept keys; else queries and keys are the same points.

    >>> affinity(np.array([[0.5, 0.5], [1.0, 0.0]])).p
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    weights = checked(attention, cross)
    queries = np.arange(weights.shape[0]) if queries is None else queries
    keys = (np.arange(weights.shape[1]) if cross else queries) if keys is None else keys
    if not cross and not np.array_equal(queries, keys):
        raise DataError("queries and keys of one text are the same points: keep the same ones of both")
    if not len(queries) or not len(keys):
        raise Empty("no token is left: all are special tokens. Keep them with special=True")
    cut = weights[np.ix_(queries, keys)]
    between = cut if cross else cut * (1 - np.eye(len(cut)))
    size = sum(cut.shape) if cross else len(cut)
    total, mass = float(between.sum()), float(between.sum() / max(weights[queries].sum(), 1e-300))
    if size == 1:
        return Affinity(np.zeros((1, 1)), 0.0, ("a single token: nothing to lay out",))
    if total < 1e-30:
        raise Empty("every token attends to itself only: there is nothing to lay out")
    p = np.zeros((size, size))
    if cross:
        p[: cut.shape[0], cut.shape[0] :] = between
    else:
        p[:] = between
    p = p + p.T
    p /= p.sum()
    labels = names or [f"token {number}" for number in range(size)]
    return Affinity(p, mass, tuple(_notes(p, mass, cut, labels)))


def checked(attention: Map, cross: bool = False) -> NDArray[np.float64]:
    """A map in float64, or a clear error."""
    weights = np.asarray(attention, np.float64)
    if weights.ndim != 2 or 0 in weights.shape:
        raise DataError(f"a map has queries and keys, and this has the shape {weights.shape}")
    if not cross and weights.shape[0] != weights.shape[1]:
        raise DataError(
            f"a map of {weights.shape[0]} queries and {weights.shape[1]} keys is not square: say cross=True"
        )
    bad = int((~np.isfinite(weights)).sum())
    if bad:
        raise DataError(
            f"{bad:,} of {weights.size:,} weights are not numbers: the model overflowed on this text, or the map is "
            "damaged. Load the model in float32, or compute the map again"
        )
    if (weights < 0).any():
        raise DataError("attention below 0: these are scores, not attention. Take the map after the softmax")
    return weights


@dataclass(frozen=True)
class PointMaps:
    """Maps (…, query, key) whose rows and columns can be points, and which of them are.

    `special` says for each key that is a point whether it is a special token.
    """

    attention: Map
    queries: Points
    keys: Points
    special: NDArray[np.bool_]

    @cached_property
    def maps(self) -> NDArray[np.float64]:
        """The maps between points only."""
        between: NDArray[np.float64] = self.attention[..., self.queries, :][..., self.keys].astype(np.float64)
        return between


def to_points(attention: Map, queries: Side, keys: Side, *, special: bool, unit: Unit) -> PointMaps:
    """Maps (…, query, key) with tokens or words as points: words are merged first, then special tokens dropped.

    Rows are not normalized again.
    """
    if unit == "word":
        attention, rows, columns = to_words(attention, queries.word, keys.word)
    else:
        rows, columns = first_tokens(queries, unit), first_tokens(keys, unit)
    kept_queries = np.flatnonzero(~queries.special[rows] | special)
    kept_keys = np.flatnonzero(~keys.special[columns] | special)
    return PointMaps(attention, kept_queries, kept_keys, keys.special[columns[kept_keys]])


def first_tokens(side: Side, unit: Unit) -> Points:
    """The first token of each word, or every token."""
    return _groups(side.word) if unit == "word" else np.arange(len(side.word))


def to_words(
    attention: Map, query_words: NDArray[np.int32], key_words: NDArray[np.int32]
) -> tuple[NDArray[np.float64], Points, Points]:
    """Maps (…, query, key) with words in place of tokens: the sum over a word's keys, the mean over its queries.

    Tokens without a word (−1, such as special tokens) stay as they are. Returns the maps, and for queries and keys the
    first token of each word.

    >>> halves = np.full((3, 3), 1 / 3)
    >>> to_words(halves, np.array([0, 0, 1]), np.array([0, 0, 1]))[0].round(2)
    array([[0.67, 0.33],
           [0.67, 0.33]])
    """
    rows, columns = _groups(query_words), _groups(key_words)
    summed = np.add.reduceat(np.asarray(attention, np.float64), columns, -1)
    sizes = np.diff([*rows, len(query_words)])
    return np.add.reduceat(summed, rows, -2) / sizes[:, None], rows, columns


def _groups(words: NDArray[np.int32]) -> Points:
    """Where each word begins; a token without a word counts as a word."""
    before = np.concatenate([[-2], words[:-1]])
    return np.flatnonzero((words != before) | (words < 0))


def _notes(p: NDArray[np.float64], mass: float, cut: Map, names: list[str]) -> list[str]:
    """What a reader of the layout should know."""
    notes = []
    if mass < LITTLE:
        notes.append(
            f"P is nearly empty: {percent(mass)} of attention goes from one token to another, and the layout shows "
            "only that"
        )
    share = 2 * p.sum(1)  # of P on the pairs of each point
    hub = int(share.argmax())
    if len(p) > 3 and share[hub] > HUB:
        notes.append(
            f"{percent(min(float(share[hub]), 1.0))} of P lies on pairs with {names[hub].strip()!r}: the rest is "
            "placed by what little is left"
        )
    parts = components(p)
    if parts.max() > 0:
        sizes = np.sort(np.bincount(parts))[::-1]
        shown = ", ".join(map(str, sizes[:4])) + (" …" if len(sizes) > 4 else "")
        notes.append(f"P falls into {len(sizes)} parts ({shown} points): their relative positions have no meaning")
    if len(cut) > 2:
        repeated = len(cut) - len(np.unique(cut.round(6), axis=0))
        if repeated:
            notes.append(f"{repeated} of {len(cut)} queries attend exactly as another does")
    return notes


def components(p: NDArray[np.float64]) -> NDArray[np.int32]:
    """Connected component of each point in P; pairs below 1 % of even attention do not connect."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    even = 1 / max(len(p) * (len(p) - 1), 1)
    labels: NDArray[np.int32] = connected_components(csr_array(p > FAINT * even), directed=False)[1]
    return labels
