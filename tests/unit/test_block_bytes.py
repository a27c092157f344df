"""Blocks of arrays as bytes: Zarr reads them as if it had written them."""

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, BloscShuffle, Crc32cCodec

from headatlas.atlas.block_bytes import COMPRESSION, block_bytes


def written(folder, shape, block, piece, dtype, fill):
    codec = BloscCodec(typesize=np.dtype(dtype).itemsize, **COMPRESSION, shuffle=BloscShuffle.bitshuffle)
    options = {"chunks": piece, "shards": block if piece != block else None, "compressors": [codec, Crc32cCodec()]}
    return zarr.create_array(folder, name="x", shape=shape, dtype=dtype, fill_value=fill, **options)


def put(folder, values, block, piece, fill):
    for number, start in enumerate(range(0, len(values), block[0])):
        file = folder.joinpath("x", "c", str(number), *"0" * (values.ndim - 1))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(block_bytes(values[start : start + block[0]], block, piece, fill))


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 9),
    size=st.integers(1, 5),
    rest=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    cut=st.integers(0, 7),
    dtype=st.sampled_from(["float16", "float32", "int32", "uint16"]),
    seed=st.integers(0, 99),
)
def test_zarr_reads_what_is_written(tmp_path_factory, rows, size, rest, cut, dtype, seed):
    folder = tmp_path_factory.mktemp("array")
    block = (size, *rest)
    piece = (size, *(1 if cut >> axis & 1 else length for axis, length in enumerate(rest)))
    values = (np.random.default_rng(seed).normal(size=(rows, *rest)) * 100).astype(dtype)
    fill = np.nan if dtype.startswith("float") else 0
    array = written(folder, values.shape, block, piece, dtype, fill)
    put(folder, values, block, piece, fill)
    np.testing.assert_array_equal(array[:], values)


def test_zarr_notices_a_changed_byte(tmp_path):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    array = written(tmp_path, values.shape, (4, 6), (4, 1), "float32", np.nan)
    put(tmp_path, values, (4, 6), (4, 1), np.nan)
    file = tmp_path / "x" / "c" / "0" / "0"
    content = bytearray(file.read_bytes())
    content[20] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="checksum"):
        array[:]
