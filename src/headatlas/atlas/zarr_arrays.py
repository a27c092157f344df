"""Arrays of an atlas as Zarr: the only file that imports zarr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from zarr.storage import WrapperStore

from headatlas.atlas.block_bytes import compression
from headatlas.atlas.files import Files
from headatlas.atlas.schema import Array


class CompleteStore(WrapperStore[Any]):
    """A store of finished arrays: a missing block is an error, not a block of fill values."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """The bytes of a file."""
        value = await super().get(key, prototype, byte_range)
        if value is None and ("/c/" in key or "/c." in key):
            raise FileNotFoundError(f"{key} is missing")
        return value


@dataclass(frozen=True, slots=True)
class Cut:
    """The shape of an array, of its blocks and of their pieces, and what separates the numbers in names of blocks."""

    shape: tuple[int, ...]
    block: tuple[int, ...]
    piece: tuple[int, ...]
    separator: str

    def name(self, number: int) -> str:
        """The file of a block within the folder of the array.

        >>> Cut((8, 3), (4, 3), (4, 1), ".").name(1)
        'c.1.0'
        """
        return self.separator.join(["c", str(number), *"0" * (len(self.shape) - 1)])


def read_cut(files: Files, spec: Array, folder: str) -> Cut:
    """How an array is cut, by its metadata: every block has a new writer, and to open an array takes milliseconds."""
    metadata = json.loads(files.read(f"{spec.path(folder)}/zarr.json"))
    block, codec = metadata["chunk_grid"]["configuration"]["chunk_shape"], metadata["codecs"][0]
    piece = codec["configuration"]["chunk_shape"] if codec["name"] == "sharding_indexed" else block
    separator = metadata["chunk_key_encoding"]["configuration"]["separator"]
    return Cut(tuple(metadata["shape"]), tuple(block), tuple(piece), separator)


def _store(files: Files, group: str) -> Any:
    from zarr.storage import FsspecStore, LocalStore

    return LocalStore(files.path(group)) if files.local else FsspecStore.from_url(f"{files.url}/{group}")


def open_for_reading(files: Files, spec: Array, folder: str) -> Any:
    """An array, finished or not; blocks that are missing cannot be read."""
    import zarr

    return zarr.open_array(CompleteStore(_store(files, f"{spec.stage}.zarr")), path=spec.inside(folder), mode="r")


def create(
    files: Files, spec: Array, folder: str, sizes: Mapping[str, int], block: int, attributes: Mapping[str, Any]
) -> None:
    """Create an array with its first axis cut in blocks of `block` rows."""
    import zarr
    from zarr.codecs import BloscCodec, BloscShuffle, Crc32cCodec

    shape = tuple(sizes[axis] for axis in spec.axes)
    block_shape = (block, *shape[1:])
    piece = tuple(1 if axis in spec.pieces else size for axis, size in zip(spec.axes, block_shape, strict=True))
    bytes_per_value = np.dtype(spec.dtype).itemsize
    zarr.create_array(
        _store(files, f"{spec.stage}.zarr"),
        name=spec.inside(folder),
        shape=shape,
        dtype=spec.dtype,
        chunks=piece,
        shards=block_shape if piece != block_shape else None,
        compressors=[
            BloscCodec(typesize=bytes_per_value, **compression(spec.compressor), shuffle=BloscShuffle.bitshuffle),
            Crc32cCodec(),
        ],
        fill_value=spec.fill_value,
        chunk_key_encoding={"name": "default", "separator": "." if spec.flat else "/"},
        attributes={**attributes, "note": spec.note},
        dimension_names=spec.axes,
        config={"write_empty_chunks": True},
    )
