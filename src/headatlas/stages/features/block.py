"""One task: turn the maps of a block of examples into vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.errors import ModelError
from headatlas.numeric.threads import single_thread
from headatlas.stages.features.encoders import Encoder

LARGEST = float(np.finfo(np.float16).max)
ARRAYS = ("pooled", "stats")


def reads(encoder: Encoder) -> tuple[str, ...]:
    """The arrays that an encoder needs."""
    return tuple(getattr(encoder, "reads", ARRAYS))


@dataclass(frozen=True)
class EncodeBlock:
    """The function that is run on the number of each block; returns the number of examples done."""

    place: Place
    encoder: Encoder
    block: int
    batch: int

    @single_thread("torch")
    def __call__(self, number: int) -> int:
        """Encode one block."""
        writer = Writer(self.place)
        first = number * self.block
        rows = slice(first, first + self.block)
        maps = {name: writer.atlas.read(name, rows) for name in reads(self.encoder)}
        vectors = encode(self.encoder, maps.get("pooled"), maps.get("stats"), self.batch, first)
        writer.write_manifest(block_name(number), writer.write_blocks("features", first, vectors))
        return len(vectors)


def encode(
    encoder: Encoder, pooled: NDArray[Any] | None, stats: NDArray[Any] | None, batch: int, first: int = 0
) -> NDArray[np.float16]:
    """Vectors (example, layer, head, feature) of maps (example, layer, head, …); NaN for maps that do not exist.

    Maps are passed to the encoder `batch` at a time in the order of examples, layers, heads. `first` is the number of
    the first example, for messages.
    """
    source = pooled if pooled is not None else stats
    assert source is not None
    shape = source.shape[:3]
    rows = [array if array is None else array.reshape(-1, *array.shape[3:]) for array in (pooled, stats)]
    exists = np.flatnonzero(~np.isnan(source.reshape(int(np.prod(shape)), -1)).all(1))
    vectors = np.full((int(np.prod(shape)), encoder.width), np.nan, np.float16)
    for start in range(0, len(exists), batch):
        parallel.check()
        places = exists[start : start + batch]
        encoded = encoder.encode(*(array if array is None else array[places] for array in rows))
        _check(encoder, encoded, places, shape, first)
        vectors[places] = encoded
    return vectors.reshape(*shape, -1)


def _check(
    encoder: Encoder, vectors: NDArray[Any], places: NDArray[np.int64], shape: tuple[int, ...], first: int
) -> None:
    """Raise an error that names the map if a vector cannot be stored."""
    name = getattr(encoder, "name", type(encoder).__name__)
    if vectors.shape != (len(places), encoder.width):
        raise ModelError(f"{name} returns {vectors.shape} for {len(places)} maps; its width is {encoder.width}")
    valid = (np.abs(vectors) <= LARGEST).all(1)  # also False for NaN
    if valid.all():
        return
    worst = int(np.argmin(valid))
    example, layer, head = (int(n) for n in np.unravel_index(places[worst], shape))
    what = "beyond the range of float16" if np.isfinite(vectors[worst]).all() else "NaN or infinite"
    example += first
    raise ModelError(
        f"{name} returns a vector that is {what} for example {example}, L{layer}·H{head}. "
        f"Inspect its map, atlas.read({reads(encoder)[0]!r}, ({example}, {layer}, {head})), or choose another encoder"
    )
