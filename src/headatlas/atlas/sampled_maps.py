"""Some maps of an array, read block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import row_ranges
from headatlas.numeric.sampling import Heads, Index

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas


def existing_heads(atlas: Atlas) -> Heads:
    """The heads of the model, one row each: layer, head. Layers may have different numbers of them."""
    table = atlas.table("heads", columns=["layer", "head"])
    return np.stack([np.asarray(table[name]) for name in ("layer", "head")], 1).astype(np.int64)


def read_maps(atlas: Atlas, array: str, index: Index, of: str | None = None) -> tuple[Index, NDArray[Any]]:
    """Index and values (map, …) of these maps, sorted by example; maps that do not exist (all NaN) are left out."""
    stored = atlas.array(array, of)
    blocks = row_ranges(atlas, array, of)
    values = np.empty((len(index), *stored.shape[3:]), stored.dtype)
    with progress.bar("reading a sample", blocks[-1].stop, "examples") as advance:
        for rows in blocks:
            first, last = np.searchsorted(index[:, 0], [rows.start, rows.stop])
            if first < last:
                example, layer, head = index[first:last].T
                block = atlas.read(array, slice(rows.start, rows.stop), of)
                values[first:last] = block[example - rows.start, layer, head]
            advance(len(rows))
    exists = ~np.isnan(values).all(tuple(range(1, values.ndim)))
    return index[exists], values[exists]
