"""What the statistics need to know about the tokens of an example: computed once, used by every layer and head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas.models.encode import Tokens
from headatlas.models.model import Grid
from headatlas.numeric.pooling import pooling_columns, pooling_rows
from headatlas.stages.collect import kernel
from headatlas.statistics import SPECIAL, Mark, Modality, Relation, collected

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Pairs = tuple[Ints, Ints]  # keys that belong to each query: start of each query's keys (query + 1,), keys
NONE: Ints = np.empty(0, np.int64)
PUNCTUATION = {".", ","}
SENTENCE_ENDS, CLOSERS = frozenset(".!?"), frozenset("\"'”’»)]}")


class Layout(NamedTuple):
    """What `kernel.reduce_heads` needs to know about the tokens."""

    rows: tuple[Ints, Floats]  # first bin of each query (query,), its weights in that and the following (query, bins)
    columns: tuple[Ints, Floats]  # first key of each bin (bin,), weights of that and the following keys (bin, keys)
    places: tuple[Floats, Floats]  # keys (3, key), queries (3, query): row, column, on the grid; on a line the row is 0
    relations: Pairs  # of all relations, end to end: starts (relation, query + 1), keys
    marks: tuple[Ints, Ints]  # keys to sum over all queries: starts (mark + 1,), keys
    separators: tuple[Ints, Ints]  # queries and keys that are separators
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
    separators = (NONE, NONE)
    if separator is not None:
        separators = _where(queries.ids == separator), _where(keys.ids == separator)
    return Layout(
        pooling_rows(n, resolution),
        pooling_columns(m, resolution),
        (_line(m, 1 / m if cross else 1), _line(n, 1 / n if cross else 1)),
        _stacked([relation(queries, keys, causal) for relation in _TEXT_RELATIONS]),
        _lists(_text_marks(keys, specials)),
        separators,
        grid=False,
        square=not cross,
    )


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
    numbers = sentences(keys.text, keys.special, keys.segment)
    together = (numbers[:, None] == numbers[None, :]) & (numbers >= 0)
    return np.append(0, np.cumsum(together.sum(1))).astype(np.int64), np.nonzero(together)[1].astype(np.int64)


def sentences(pieces: Sequence[str], special: Iterable[bool], segment: Iterable[int]) -> Ints:
    """The number of the sentence of each token; -1 for special tokens.

    A sentence ends with its segment, or with a token of `.`, `!` or `?`; more of these, and closing quotes and brackets
    that follow, are still part of it. The dot of an abbreviation or a number counts like any other.

    >>> pieces = ["[CLS]", "“", "go", "!", "”", "she", "left", ".", "[SEP]", "who", "?", "[SEP]"]
    >>> sentences(pieces, [piece[0] == "[" for piece in pieces], [0] * 9 + [1] * 3)
    array([-1,  0,  0,  0,  0,  1,  1,  1, -1,  2,  2, -1])
    """
    numbers = np.full(len(pieces), -1, np.int64)
    number, ended, last = 0, False, None
    for place, (piece, outside, part) in enumerate(zip(pieces, special, segment, strict=True)):
        if outside:
            continue
        characters = {*_plain(piece)}
        closes = characters <= SENTENCE_ENDS | CLOSERS
        starts = (ended and not closes) or last not in (None, part)
        number += starts
        ended = closes and (not characters.isdisjoint(SENTENCE_ENDS) or (ended and not starts))
        numbers[place], last = number, part
    return numbers


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
    return _where(np.array([_plain(piece) in PUNCTUATION for piece in keys.text], bool))


def _plain(piece: str) -> str:
    """A piece of text without the space before it and the mark of a continued word."""
    return piece.strip().removeprefix("##")


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
