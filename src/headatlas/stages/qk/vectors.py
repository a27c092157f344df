"""Queries and keys of one layer, read from the atlas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import block_ranges, block_size
from headatlas.atlas.store import Atlas

BLOCKS = 32  # read at a time

ByHead = NDArray[np.float32]  # (token, head, feature)


def read_layer(atlas: Atlas, rows: NDArray[np.int64], layer: Mapping[str, Any]) -> tuple[ByHead, ByHead]:
    """Queries and keys of some rows, of every head; with grouped keys, each key belongs to several heads.

    Rows are NaN where a token has no query or no key in this layer: a token of the source or of the target.
    """
    heads, groups = layer["heads"], layer["heads"] // layer["key_heads"]
    query = _rows(atlas, "query", rows, layer["index"])[:, :heads, : layer["width"]]
    key = _rows(atlas, "key", rows, layer["index"])[:, : layer["key_heads"], : layer["width"]]
    return query, key.repeat(groups, 1)


def _rows(atlas: Atlas, name: str, rows: NDArray[np.int64], layer: int) -> ByHead:
    """Rows (rising) of one layer of an array, some blocks at a time."""
    array = atlas.array(name)
    values = np.empty((len(rows), *array.shape[2:]), np.float32)
    for part in block_ranges(array.shape[0], BLOCKS * block_size(array)):
        first, last = np.searchsorted(rows, (part.start, part.stop))
        if last > first:
            chunk = atlas.read(name, (slice(part.start, part.stop), layer))
            values[first:last] = chunk[rows[first:last] - part.start]
    return values
