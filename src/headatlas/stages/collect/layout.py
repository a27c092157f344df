"""What the statistics need to know about the tokens of an example: computed once, used by every layer and head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas.data.pieces import PUNCTUATION, plain, sentences
from headatlas.models.encode import Tokens
from headatlas.models.model import Grid
from headatlas.numeric.pooling import pooling_columns, pooling_rows
from headatlas.sources import Beyond, Mark, Relation
from headatlas.stages.collect import kernel
from headatlas.statistics import SPECIAL, Modality, collected

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
ByDistance = tuple[Floats, Floats, Floats, tuple[Ints, Ints], Floats]  # of a layout, from `key_queries` on
Pairs = tuple[Ints, Ints]  # keys that belong to each query: start of each query's keys (query + 1,), keys
NONE: Ints = np.empty(0, np.int64)


class Layout(NamedTuple):
    """What `kernel.reduce_heads` needs to know about the tokens."""

    rows: tuple[Ints, Floats]  # first bin of each query (query,), its weights in that and the following (query, bins)
    columns: tuple[Ints, Floats]  # first key of each bin (bin,), weights of that and the following keys (bin, keys)
    places: tuple[Floats, Floats]  # keys (3, key), queries (3, query): row, column, on the grid; on a line the row is 0
    relations: Pairs  # of all relations, end to end: starts (relation, query + 1), keys
    marks: tuple[Ints, Ints]  # keys to sum over all queries: starts (mark + 1,), keys
    separators: tuple[Ints, Ints]  # queries and keys that are separators
    key_queries: Floats  # (key,) queries that a causal mask, if there is one, lets attend to the key
    inner: Floats  # (key,) 1 for inner keys: neither the first token nor special
    counted: Floats  # (key,) 1 for inner keys that may stand out as columns: neither full stops nor commas
    inner_marks: tuple[Ints, Ints]  # inner keys of marks that are compared with distance: starts (mark + 1,), keys
    pairs: Floats  # (1 + compared, distance) inner pairs at each distance: of all, of each relation and of each mark
    even: float  # mean distance of attention that is even over all inner keys that a causal mask, if any, allows
    grid: bool  # patches of an image, not tokens of a text
    square: bool  # queries and keys are the same tokens


def _line(count: int, scale: float) -> Floats:
    """Tokens on a line: centers of their cells."""
    places = np.zeros((3, count), np.float32)
    places[1] = (np.arange(count) + 0.5) * scale
    places[2] = 1
    return places


def _lists(keys: list[Ints]) -> tuple[Ints, Ints]:
    """Lists of unequal length end to end, with their starts."""
    starts = np.cumsum([0, *(len(part) for part in keys)]).astype(np.int64)
    return starts, np.concatenate([NONE, *keys]).astype(np.int64)


def text_layout(
    queries: Tokens, keys: Tokens, specials: tuple[int, ...], separator: int | None, resolution: int, causal: bool
) -> Layout:
    """The layout of a text; queries and keys are the same tokens except in cross attention."""
    cross = queries is not keys
    n, m = len(queries), len(keys)
    relations = [relation(queries, keys, causal) for relation in _TEXT_RELATIONS]
    separators = (NONE, NONE)
    if separator is not None:
        separators = _where(queries.ids == separator), _where(keys.ids == separator)
    return Layout(
        pooling_rows(n, resolution),
        pooling_columns(m, resolution),
        (_line(m, 1 / m if cross else 1), _line(n, 1 / n if cross else 1)),
        _stacked(relations),
        _lists(_text_marks(keys, specials)),
        separators,
        *_by_distance(queries, keys, causal, relations),
        even=0.0 if cross else _even_distance(_inner(keys), causal),
        grid=False,
        square=not cross,
    )


def _by_distance(queries: Tokens, keys: Tokens, causal: bool, relations: Sequence[Pairs]) -> ByDistance:
    """What is compared with attention by distance; nothing where queries and keys are different tokens."""
    n, m = len(queries), len(keys)
    key_queries = np.arange(n, 0, -1) if causal and queries is keys else np.full(m, n)
    inner = _inner(keys)
    counted = inner.copy()
    counted[_punctuation(keys)] = False
    by_key = key_queries.astype(np.float32), inner.astype(np.float32), counted.astype(np.float32)
    if queries is not keys:
        return *by_key, (np.zeros(1, np.int64), NONE), _no_pairs(n, m)
    marks = [mark(keys) for mark in _COMPARED_MARKS]
    marks = [keys_of[inner[keys_of]] for keys_of in marks]
    counts = [_inner_pairs(inner, causal)]
    for starts, key in relations:
        query = np.repeat(np.arange(n), np.diff(starts))
        allowed = inner[key] & (key <= query) if causal else inner[key]
        counts.append(np.bincount((key - query + n - 1)[allowed], minlength=2 * n - 1))
    counts += [_inner_pairs(np.isin(np.arange(n), keys_of), causal) for keys_of in marks]
    return *by_key, _lists(marks), np.stack(counts).astype(np.float32)


def _inner(keys: Tokens) -> NDArray[np.bool_]:
    """Whether each key is inner: neither the first token nor special."""
    inner = ~np.asarray(keys.special, bool)
    inner[:1] = False
    return inner


def _even_distance(inner: NDArray[np.bool_], causal: bool) -> float:
    """Mean distance over queries of attention that is even over the inner keys; 0 if there are none.

    >>> _even_distance(np.array([False, True, True]), False), _even_distance(np.array([False, True, True]), True)
    (0.833..., 0.25)
    """
    place = np.arange(len(inner))
    count, total = np.cumsum(inner), np.cumsum(inner * place)  # of inner keys up to each query
    distance, keys = place * count - total, count
    if not causal:
        distance, keys = distance + (total[-1] - total) - place * (count[-1] - count), np.full_like(count, count[-1])
    return float((distance[keys > 0] / keys[keys > 0]).mean()) if keys.any() else 0.0


def _inner_pairs(inner: NDArray[np.bool_], causal: bool) -> Ints:
    """Number of pairs of a query and an inner key at each distance, from 1 - n to n - 1.

    >>> _inner_pairs(np.array([False, True, True]), True)
    array([0, 1, 2, 0, 0])
    """
    n = len(inner)
    until = np.append(0, np.cumsum(inner))
    distance = np.arange(1 - n, n)
    counts = until[np.minimum(n, n + distance)] - until[np.maximum(0, distance)]
    return np.where(causal & (distance > 0), 0, counts).astype(np.int64)


def _no_pairs(queries: int, keys: int) -> Floats:
    return np.zeros((1, queries + keys - 1), np.float32)


@lru_cache(maxsize=64)
def image_layout(grid: Grid, resolution: int) -> Layout:
    """The layout of an image: special tokens first, then patches row by row."""
    offset, patches = len(grid.special), grid.rows * grid.columns
    count = offset + patches
    kinds = np.array([special_name(token) for token in grid.special], object)
    places = np.zeros((3, count), np.float32)
    places[0, offset:] = np.repeat(np.arange(grid.rows), grid.columns)
    places[1, offset:] = np.tile(np.arange(grid.columns), grid.rows)
    places[2, offset:] = 1
    return Layout(
        pooling_rows(count, resolution),
        pooling_columns(count, resolution),
        (places, places),
        _stacked([relation(places) for relation in _IMAGE_RELATIONS]),
        _lists([_where(kinds == name) for name in special_names(grid)]),
        (NONE, NONE),
        np.full(count, count, np.float32),
        (places[2] > 0).astype(np.float32),
        np.zeros(count, np.float32),
        (np.zeros(1, np.int64), NONE),
        _no_pairs(count, count),
        even=0.0,
        grid=True,
        square=True,
    )


def special_name(token: str) -> str:
    """Registers count as one kind of token."""
    return "[REG]" if token.startswith("[REG") else token


def special_names(grid: Grid) -> tuple[str, ...]:
    """The kinds of special tokens of an image, in order."""
    return tuple(dict.fromkeys(special_name(token) for token in grid.special))


def _where(mask: Any) -> Ints:
    return np.flatnonzero(mask).astype(np.int64)


# relations: for each query the keys whose attention is summed


def _same_token(queries: Tokens, keys: Tokens, causal: bool) -> Pairs:
    pairs: Pairs = kernel.equal_pairs(queries.ids, keys.ids, False, causal, queries is not keys)
    return pairs


def _induction(queries: Tokens, keys: Tokens, causal: bool) -> Pairs:
    pairs: Pairs = kernel.equal_pairs(queries.ids, keys.ids, True, causal, queries is not keys)
    return pairs


def _same_sentence(queries: Tokens, keys: Tokens, causal: bool) -> Pairs:
    if queries is not keys:
        return np.zeros(len(queries) + 1, np.int64), NONE  # undefined: they are different texts
    return _same_number(sentences(keys.text, keys.special.tolist(), keys.segment.tolist()))


def _same_number(numbers: Ints) -> Pairs:
    """For each token those with the same number, itself included; numbers only rise, but for -1, which has none.

    >>> starts, keys = _same_number(np.array([-1, 0, -1, 0, 1]))
    >>> starts.tolist(), keys.tolist()
    ([0, 0, 2, 2, 4, 5], [1, 3, 1, 3, 4])
    """
    tokens = _where(numbers >= 0)
    of = numbers[tokens]
    sizes = np.bincount(of, minlength=1)
    starts = np.zeros(len(numbers) + 1, np.int64)
    starts[tokens + 1] = sizes[of]
    starts = np.cumsum(starts)
    firsts = np.cumsum(sizes) - sizes  # of each number, among `tokens`
    shift = np.repeat(firsts[of] - starts[tokens], sizes[of])
    return starts, tokens[np.arange(starts[-1]) + shift]


def _same_row(places: Floats) -> Pairs:
    return _same_line(places[0], places[2] > 0)


def _same_column(places: Floats) -> Pairs:
    return _same_line(places[1], places[2] > 0)


def _same_line(line: Floats, patches: NDArray[np.bool_]) -> Pairs:
    """For each patch the other patches on the same line of the grid."""
    together = (line[:, None] == line[None, :]) & patches[:, None] & patches[None, :]
    return _lists([_where(row) for row in together & ~np.eye(len(line), dtype=bool)])


def _stacked(relations: Sequence[Pairs]) -> Pairs:
    """The pairs of all relations end to end: starts (relation, query + 1), keys."""
    lengths = [len(keys) for _, keys in relations]
    firsts = np.cumsum([0, *lengths[:-1]])
    starts = [pair_starts + first for (pair_starts, _), first in zip(relations, firsts, strict=True)]
    return np.stack(starts), np.concatenate([keys for _, keys in relations])


# marks: keys to which the attention of all queries is summed


def _first(keys: Tokens) -> Ints:
    return np.zeros(1, np.int64)


def _punctuation(keys: Tokens) -> Ints:
    return _where(np.array([plain(piece) in PUNCTUATION for piece in keys.text], bool))


def _text_marks(keys: Tokens, specials: tuple[int, ...]) -> list[Ints]:
    """The marked keys of each statistic of that kind, special tokens at the position where they are declared."""
    marks = []
    for mark in _TEXT_MARKS:
        marks += [mark(keys)] if mark is not None else [_where(keys.ids == token) for token in specials]
    return marks


_Function = TypeVar("_Function")


def _in_order(modality: Modality, kind: type, functions: Mapping[str, _Function]) -> tuple[_Function, ...]:
    """The functions of the declared statistics of a kind, in order; declarations and functions must match."""
    names = [entry.name for entry in collected(modality) if isinstance(entry.source, kind)]
    if {*names} != {*functions}:
        raise TypeError(f"declared and defined {kind.__name__} statistics differ: {sorted({*names} ^ {*functions})}")
    return tuple(functions[name] for name in names)


_RELATIONS = {"same_token": _same_token, "induction": _induction, "same_sentence": _same_sentence}
_TEXT_RELATIONS = _in_order("text", Relation, _RELATIONS)
_IMAGE_RELATIONS = _in_order("image", Relation, {"same_row": _same_row, "same_column": _same_column})
_MARKS: dict[str, Callable[[Tokens], Ints] | None] = {
    "first": _first,
    SPECIAL.name: None,  # their ids are the model's
    "punctuation": _punctuation,
}
_TEXT_MARKS = _in_order("text", Mark, _MARKS)
COMPARED = tuple(entry.source.of for entry in collected("text") if isinstance(entry.source, Beyond))
if COMPARED[: len(_RELATIONS)] != tuple(_RELATIONS):  # the kernel compares relations in their order, then marks
    raise TypeError(f"statistics beyond distance must be those of all relations, then of marks: {COMPARED}")
_COMPARED_MARKS = tuple(mark for name in COMPARED[len(_RELATIONS) :] if (mark := _MARKS[name]) is not None)
