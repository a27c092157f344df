"""What the statistics need to know of an example's tokens: prepared once, used by every layer and head."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headatlas.models.encode import Tokens
from headatlas.models.model import Grid
from headatlas.numeric.pooling import pooling_columns, pooling_rows
from headatlas.stages.collect import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
NONE: Ints = np.empty(0, np.int64)
PUNCTUATION = {".", ","}


class Layout(NamedTuple):
    """What `kernel.reduce_heads` needs to know of the tokens."""

    rows: tuple[Ints, Floats]  # first bin of each query (query,), its weights in that and the following (query, bins)
    columns: tuple[Ints, Floats]  # first key of each bin (bin,), weights of that and the following keys (bin, keys)
    places: tuple[Floats, Floats]  # keys (3, key), queries (3, query): row, column, on the grid; on a line the row is 0
    relations: tuple[Ints, Ints]  # pairs to sum: starts (relation, query + 1), keys
    marks: tuple[Ints, Ints]  # keys to sum over all queries: starts (mark + 1,), keys
    separators: tuple[Ints, Ints]  # queries and keys that are separators
    grid: bool  # patches of an image, not tokens of a text
    square: bool  # queries and keys are the same tokens


def _line(count: int, scale: float) -> Floats:
    """Tokens on a line: centres of their cells."""
    places = np.zeros((3, count), np.float32)
    places[1] = (np.arange(count) + 0.5) * scale
    places[2] = 1
    return places


def _lists(keys: list[Ints]) -> tuple[Ints, Ints]:
    """Lists of unequal length end to end, with their starts."""
    starts = np.cumsum([0, *(len(one) for one in keys)]).astype(np.int64)
    return starts, np.concatenate([NONE, *keys]).astype(np.int64)


def text_layout(
    queries: Tokens, keys: Tokens, specials: tuple[int, ...], separator: int | None, resolution: int, causal: bool
) -> Layout:
    """A text; queries and keys are the same tokens unless the layer is one of cross attention."""
    cross = queries is not keys
    n, m = len(queries), len(keys)
    same = kernel.equal_pairs(queries.ids, keys.ids, False, causal, cross)
    after = kernel.equal_pairs(queries.ids, keys.ids, True, causal, cross)
    relations = np.stack([same[0], after[0] + len(same[1])]), np.concatenate([same[1], after[1]])
    pieces = np.array([piece.strip().removeprefix("##") in PUNCTUATION for piece in keys.text], bool)
    marks = [np.zeros(1, np.int64), *(_where(keys.ids == one) for one in specials), _where(pieces)]
    separators = (NONE, NONE)
    if separator is not None:
        separators = _where(queries.ids == separator), _where(keys.ids == separator)
    return Layout(
        pooling_rows(n, resolution),
        pooling_columns(m, resolution),
        (_line(m, 1 / m if cross else 1), _line(n, 1 / n if cross else 1)),
        relations,
        _lists(marks),
        separators,
        grid=False,
        square=not cross,
    )


@lru_cache(maxsize=64)
def image_layout(grid: Grid, resolution: int) -> Layout:
    """An image: special tokens in front, then patches row by row."""
    offset, patches = len(grid.special), grid.rows * grid.columns
    count = offset + patches
    places = np.zeros((3, count), np.float32)
    places[0, offset:] = np.repeat(np.arange(grid.rows), grid.columns)
    places[1, offset:] = np.tile(np.arange(grid.columns), grid.rows)
    places[2, offset:] = 1
    on = places[2] > 0
    pairs = [_grid_pairs(places[axis], on) for axis in (0, 1)]
    relations = np.stack([pairs[0][0], pairs[1][0] + len(pairs[0][1])]), np.concatenate([pairs[0][1], pairs[1][1]])
    return Layout(
        pooling_rows(count, resolution),
        pooling_columns(count, resolution),
        (places, places),
        relations,
        _lists([_where(np.array([special_name(one) == name for one in grid.special])) for name in special_names(grid)]),
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


def _grid_pairs(line: Floats, on: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """For each patch the other patches on the same line of the grid."""
    together = (line[:, None] == line[None, :]) & on[:, None] & on[None, :] & ~np.eye(len(line), dtype=bool)
    return _lists([_where(row) for row in together])


def _where(mask: Any) -> Ints:
    return np.flatnonzero(mask).astype(np.int64)
