"""One piece of work: the maps of a block of examples become vectors."""

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
    """The function that is run over the numbers of all blocks; gives the number of examples done."""

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
    """Vectors (example, layer, head, feature) of maps (example, layer, head, …); NaN for a map that does not exist.

    Maps go to the encoder `batch` at a time in the order of examples, layers, heads. `first` is the number of the first
    example, for messages.
    """
    seen = pooled if pooled is not None else stats
    assert seen is not None
    shape = seen.shape[:3]
    rows = [one if one is None else one.reshape(-1, *one.shape[3:]) for one in (pooled, stats)]
    there = np.flatnonzero(~np.isnan(seen.reshape(int(np.prod(shape)), -1)).all(1))
    vectors = np.full((int(np.prod(shape)), encoder.width), np.nan, np.float16)
    for start in range(0, len(there), batch):
        parallel.check()
        places = there[start : start + batch]
        found = encoder.encode(*(one if one is None else one[places] for one in rows))
        _check(encoder, found, places, shape, first)
        vectors[places] = found
    return vectors.reshape(*shape, -1)


def _check(
    encoder: Encoder, found: NDArray[Any], places: NDArray[np.int64], shape: tuple[int, ...], first: int
) -> None:
    """Stop at a vector that cannot be kept, and say of which map it is."""
    name = getattr(encoder, "name", type(encoder).__name__)
    if found.shape != (len(places), encoder.width):
        raise ModelError(f"{name} gives {found.shape} for {len(places)} maps; its width says {encoder.width} a map")
    kept = (np.abs(found) <= LARGEST).all(1)  # False for NaN too
    if kept.all():
        return
    worst = int(np.argmin(kept))
    example, layer, head = (int(n) for n in np.unravel_index(places[worst], shape))
    what = "beyond float16" if np.isfinite(found[worst]).all() else "not a number, or infinite"
    example += first
    raise ModelError(
        f"{name} makes a vector that is {what} of example {example}, L{layer}·H{head}. "
        f"Look at it, atlas.read({reads(encoder)[0]!r}, ({example}, {layer}, {head})), or choose another encoder"
    )
