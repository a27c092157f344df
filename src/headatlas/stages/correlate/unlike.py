"""Which texts each head treats unlike others: those on which its vector is farthest from the mean of its vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import block_size, read_blocks
from headatlas.atlas.engine import Result
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.vectors import Vectors
from headatlas.wording.thresholds import RARE

Array = NDArray[Any]
ARRAY = "unlike"
LARGEST = 100.0  # also where nearly all vectors of a head are the same
ROUNDING = 1e-12  # squared distances below this part of a vector's squared length are 0


@dataclass(frozen=True)
class Usual:
    """What each head usually does: the mean of its vectors, and how far from it most of them lie."""

    center: Array  # (slot, feature)
    reach: Array  # (slot,)

    def unlike(self, slot: int, values: Array) -> Array:
        """Distances of vectors (row, feature) of a head from its mean, as multiples of its reach; NaN: no such map."""
        distance = distances(values, self.center[slot])
        with np.errstate(invalid="ignore", divide="ignore"):
            multiple = np.where(distance > 0, distance / self.reach[slot], distance)
        clipped: Array = np.minimum(multiple, LARGEST)
        return clipped


def distances(values: Array, center: Array) -> Array:
    """Distances (row,) of vectors from one."""
    squares = ((values.astype(np.float64) - center) ** 2).sum(-1)
    rounded: Array = np.sqrt(np.where(squares <= ROUNDING * (center**2).sum(), squares * 0, squares))
    return rounded


def usual(vectors: Vectors) -> Usual:
    """The mean and the reach of every head."""
    slots, _, width = vectors.values.shape
    center, reach = np.zeros((slots, width)), np.zeros(slots)
    for slot in range(slots):
        known = vectors.values[slot][vectors.known[slot]]
        if len(known):
            center[slot] = known.mean(0, dtype=np.float64)
            reach[slot] = reach_of(distances(known, center[slot]))
    return Usual(center, reach)


def reach_of(distance: Array, rare: float = RARE) -> float:
    """The distance beyond which the share `rare` of all lie, or less: in the middle between those inside and outside.

    >>> reach_of(np.arange(20.0)), reach_of(np.arange(40.0)), reach_of(np.array([1.0, 2.0]))
    (18.5, 37.5, 2.0)
    """
    ordered = np.sort(distance)
    outside = int(np.floor(rare * len(ordered) + 1e-9))
    last = ordered[len(ordered) - outside - 1]
    return float((last + ordered[len(ordered) - outside]) / 2 if outside else last)


def flags(vectors: Vectors, of: Usual) -> Array:
    """Whether each head treats each of these examples unlike others (slot, row)."""
    return np.stack([of.unlike(slot, values) > 1 for slot, values in enumerate(vectors.values)])


def write_unlike(result: Result, features: str, maps: Coded, of: Usual) -> list[str]:
    """Write the array for all examples, some blocks at a time; the files."""
    array = result.atlas.array("features", features)
    sizes = dict(zip(("example", "layer", "head"), array.shape[:3], strict=True))
    result.create_array(ARRAY, sizes, block_size(array))
    files: list[str] = []
    for rows, values in _blocks(result, features, maps, of):
        files += result.write_blocks(ARRAY, rows.start, values)
    return files


def _blocks(result: Result, features: str, maps: Coded, of: Usual) -> Iterator[tuple[range, Array]]:
    for rows, part in read_blocks(result.atlas, "features", features):
        values = np.full(part.shape[:3], np.nan, np.float32)
        for slot, (layer, head) in enumerate(zip(maps.layer, maps.head, strict=True)):
            values[:, layer, head] = of.unlike(slot, part[:, layer, head])
        yield rows, values
