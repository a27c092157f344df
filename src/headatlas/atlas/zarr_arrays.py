"""Arrays of an atlas as Zarr: the only file that imports zarr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from zarr.storage import WrapperStore

from headatlas.atlas.files import Files
from headatlas.atlas.schema import Array


class CompleteStore(WrapperStore[Any]):
    """A store of finished arrays: a missing block is an error, not a block of fill values."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """The bytes of a file."""
        value = await super().get(key, prototype, byte_range)
        if value is None and "/c/" in key:
            raise FileNotFoundError(f"{key} is missing")
        return value


def _store(files: Files, group: str) -> Any:
    from zarr.storage import FsspecStore, LocalStore

    return LocalStore(files.path(group)) if files.local else FsspecStore.from_url(f"{files.url}/{group}")


def open_for_reading(files: Files, spec: Array, folder: str) -> Any:
    """A finished array."""
    import zarr

    return zarr.open_array(CompleteStore(_store(files, f"{spec.stage}.zarr")), path=spec.inside(folder), mode="r")


def open_for_writing(files: Files, spec: Array, folder: str) -> Any:
    """An array to write blocks to; blocks of fill values are written too."""
    import zarr

    array = zarr.open_array(_store(files, f"{spec.stage}.zarr"), path=spec.inside(folder), mode="r+")
    return array.with_config({"write_empty_chunks": True})


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
            BloscCodec(typesize=bytes_per_value, cname="zstd", clevel=1, shuffle=BloscShuffle.bitshuffle),
            Crc32cCodec(),
        ],
        fill_value=spec.fill_value,
        attributes={**attributes, "note": spec.note},
        dimension_names=spec.axes,
        config={"write_empty_chunks": True},
    )
