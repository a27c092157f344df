"""A block of an array as the bytes of its file.

They are what Zarr reads: pieces, each compressed and with a checksum, then an index of where they begin. Zarr writes
the same, with a task in an event loop for every step of every piece; for pieces as small as ours that takes longer
than compressing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import google_crc32c
import numpy as np
from numcodecs.blosc import BITSHUFFLE, Blosc
from numpy.typing import NDArray

COMPRESSION: dict[str, Any] = {"cname": "zstd", "clevel": 1}  # by default; see `schema.Array.compressor`
Shape = tuple[int, ...]


def compression(compressor: str) -> dict[str, Any]:
    """The options of a compressor, for Zarr and for Blosc."""
    return COMPRESSION | {"cname": compressor}


def block_bytes(values: NDArray[Any], block: Shape, piece: Shape, fill: Any, compressor: str = "zstd") -> bytes:
    """The file of one block; rows that are missing at the end of the array are filled."""
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    if values.shape != block:
        whole = np.full(block, fill, values.dtype)
        whole[: len(values)] = values
        values = whole
    codec = Blosc(**compression(compressor), shuffle=BITSHUFFLE, typesize=values.dtype.itemsize)
    if piece == block:
        return b"".join(_compressed(values, codec))
    parts = [_compressed(part, codec) for part in _pieces(values, piece)]
    sizes = np.array([len(content) + len(checksum) for content, checksum in parts], "<u8")
    index = np.stack([np.cumsum(sizes) - sizes, sizes], 1).astype("<u8").tobytes()
    return b"".join([*chain(*parts), index, _checksum(index)])


def _pieces(values: NDArray[Any], piece: Shape) -> Iterator[NDArray[Any]]:
    """The pieces of a block in C order of their places."""
    counts = [size // step for size, step in zip(values.shape, piece, strict=True)]
    for place in np.ndindex(*counts):
        yield values[tuple(slice(at * step, (at + 1) * step) for at, step in zip(place, piece, strict=True))]


def _compressed(values: NDArray[Any], codec: Blosc) -> tuple[bytes, bytes]:
    """A piece and its checksum."""
    content = bytes(codec.encode(np.ascontiguousarray(values)))
    return content, _checksum(content)


def _checksum(content: bytes) -> bytes:
    return int(google_crc32c.value(content)).to_bytes(4, "little")
