"""The sample of maps a projection is fitted on: the same number of every head, drawn with a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import block_size
from headatlas.atlas.store import Atlas


def draw(examples: int, heads: NDArray[np.bool_], size: int, seed: int) -> NDArray[np.int64]:
    """Numbers of maps, counted through (example, layer, head), rising; `heads` (layer, head) says which heads exist.

    Each head draws its examples by itself, so that the sample depends on nothing but these arguments.

    >>> draw(100, np.array([[True, True], [True, False]]), 6, seed=0) % 4
    array([...0, ...])
    """
    cells = np.flatnonzero(heads)
    each, rest = divmod(min(size, examples * len(cells)), max(1, len(cells)))
    favoured = set(np.random.default_rng([seed, 0]).permutation(len(cells))[:rest].tolist())
    drawn = [
        np.random.default_rng([seed, 1, int(cell)]).permutation(examples)[: each + (place in favoured)] * heads.size
        + cell
        for place, cell in enumerate(cells)
    ]
    return np.sort(np.concatenate(drawn)) if drawn else np.zeros(0, np.int64)


def existing(atlas: Atlas, of: str) -> NDArray[np.bool_]:
    """Which heads have features, (layer, head)."""
    first = atlas.read("features", slice(0, block_of(atlas, of)), of=of)
    found: NDArray[np.bool_] = (~np.isnan(first).any(-1)).any(0)
    return found


def block_of(atlas: Atlas, of: str) -> int:
    """Examples in a block of features."""
    return block_size(atlas.array("features", of))


def gather(atlas: Atlas, of: str, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Features of these maps, block by block; maps without features are left out, so the numbers come back too."""
    examples, *cells, width = atlas.array("features", of).shape
    heads, block = int(np.prod(cells)), block_of(atlas, of)
    parts = []
    with progress.bar("reading", examples, "examples") as advance:
        for start in range(0, examples, block):
            stop = min(start + block, examples)
            lo, hi = np.searchsorted(numbers, (start * heads, stop * heads))
            if hi > lo:
                values = atlas.read("features", slice(start, stop), of=of).reshape(-1, width)
                parts.append(values[numbers[lo:hi] - start * heads].astype(np.float32))
            advance(stop - start)
    vectors = np.concatenate(parts) if parts else np.zeros((0, width), np.float32)
    there = ~np.isnan(vectors).any(1)
    return numbers[there], vectors[there]
