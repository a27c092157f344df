"""The vectors of all heads on a bounded number of examples, and how they vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.stages.correlate.counts import Coded

Array = NDArray[Any]

EXAMPLES = 1_000  # with more, a random sample is used
BYTES = 256 << 20  # … which is smaller where the vectors of so many examples would take more memory


@dataclass(frozen=True)
class Vectors:
    """The vectors of every slot on some examples."""

    examples: Array  # (row,) numbers of the examples, in order
    group: Array  # (row,) from 0
    values: Array  # (slot, row, feature) as stored
    known: Array  # (slot, row); False: there is no such map

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1


def sampled_examples(examples: int, row_bytes: int, seed: int) -> Array:
    """Numbers of the examples to read: all, or a random sample that does not take too much memory.

    >>> sampled_examples(3, 100, seed=0).tolist(), len(sampled_examples(5000, 100, seed=0))
    ([0, 1, 2], 1000)
    """
    most = max(2, min(EXAMPLES, BYTES // row_bytes))
    if examples <= most:
        return np.arange(examples)
    return np.sort(np.random.default_rng([seed, 4]).choice(examples, most, replace=False))


def read_vectors(atlas: Atlas, features: str, maps: Coded, seed: int) -> Vectors:
    """Read the vectors of a sample of examples, block by block."""
    array = atlas.array("features", features)
    slots, width = len(maps.layer), int(array.shape[-1])
    chosen = sampled_examples(int(array.shape[0]), slots * width * array.dtype.itemsize, seed)
    values = np.empty((slots, len(chosen), width), array.dtype)
    with progress.bar("reading features", int(array.shape[0]), "examples") as advance:
        for rows, part in read_blocks(atlas, "features", features):
            first, last = np.searchsorted(chosen, [rows.start, rows.stop])
            selected = part[chosen[first:last] - rows.start]
            values[:, first:last] = np.moveaxis(selected[:, maps.layer, maps.head], 1, 0)
            advance(len(rows))
    known = np.asarray(np.isfinite(values).all(-1))
    return Vectors(chosen, np.unique(maps.group[chosen], return_inverse=True)[1], values, known)


def centered(values: Array, known: Array) -> Array:
    """Vectors (row, feature) minus the mean of those that are known; zero where unknown."""
    exact = np.where(known[:, None], values, 0).astype(np.float64)
    mean = exact.sum(0) / max(1, int(known.sum()))
    vectors: Array = np.where(known[:, None], exact - mean, 0)
    spread, size = (vectors**2).sum(), (exact**2).sum()
    return (vectors if spread > 1e-12 * size else np.zeros_like(vectors)).astype(np.float32)
