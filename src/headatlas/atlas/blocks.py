"""Arrays block by block: the first axis is cut into blocks that are computed, written and checked as units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

READ_BYTES = 16 << 20  # read at a time: many small blocks at once are faster than one by one


def block_size(array: Any) -> int:
    """Rows in a block of a Zarr array; a block is one file."""
    return int((array.shards or array.chunks)[0])


def block_ranges(length: int, size: int) -> list[range]:
    """The rows of each block.

    >>> block_ranges(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(start, min(start + size, length)) for start in range(0, length, size)]


def row_ranges(atlas: Atlas, name: str, of: str | None = None) -> list[range]:
    """The rows of each block of an array of an atlas."""
    array = atlas.array(name, of)
    return block_ranges(int(array.shape[0]), block_size(array))


def read_blocks(
    atlas: Atlas, name: str, of: str | None = None, *, most_bytes: int = READ_BYTES
) -> Iterator[tuple[range, NDArray[Any]]]:
    """An array from its first row to its last, several blocks at a time, each part with its rows.

    `most_bytes=0` reads one block at a time.
    """
    array = atlas.array(name, of)
    row_bytes = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    size = block_size(array)
    for rows in block_ranges(int(array.shape[0]), size * max(1, most_bytes // max(1, size * row_bytes))):
        yield rows, atlas.read(name, slice(rows.start, rows.stop), of)
