"""A sample of maps to fit an encoder to: every head, and examples from first to last. Blocks do not matter to it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import block_size
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError

ROOM = 2**26  # numbers in a sample; they are fitted in float64


def spread(examples: int, heads: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Example and head of about `count` maps in order: each head as often, on examples at even steps, at least one.

    >>> example, head = spread(examples=100, heads=2, count=4, seed=0)
    >>> example.tolist(), head.tolist()
    ([13, 31, 63, 81], [1, 0, 1, 0])
    """
    each = min(examples, max(1, count // heads))
    phase = np.random.default_rng(seed).random(heads)
    chosen = ((np.arange(each)[:, None] + phase) * (examples / each)).astype(np.int64).clip(max=examples - 1)
    example, head = chosen.ravel(), np.tile(np.arange(heads), each)
    order = np.lexsort((head, example))
    return example[order], head[order]


def draw(atlas: Atlas, name: str, count: int, seed: int) -> NDArray[Any]:
    """A sample of one array of an atlas (map, …), without the maps of heads that do not exist."""
    array = atlas.array(name)
    examples, layers, heads, *rest = array.shape
    block = block_size(array)
    example, head = spread(examples, layers * heads, min(count, ROOM // int(np.prod(rest))), seed)
    edges = np.searchsorted(example, np.arange(0, examples + block, block))
    found = []
    with progress.bar("sampling maps", len(example), "maps") as advance:
        for number, (start, stop) in enumerate(pairwise(edges)):
            if start == stop:
                continue
            values = atlas.read(name, slice(number * block, min((number + 1) * block, examples)))
            values = values.reshape(len(values), layers * heads, *rest)
            found.append(values[example[start:stop] - number * block, head[start:stop]])
            advance(int(stop - start))
    maps = np.concatenate(found)
    there = ~np.isnan(maps.reshape(len(maps), -1)).all(1)
    if not there.any():
        raise DataError(f"{atlas.files.url} has no maps to fit an encoder to: all that were looked at are empty")
    return np.asarray(maps[there])
