"""The sample of maps a projection is fitted on: the same number of every head, drawn with a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.sampled_maps import existing_heads, read_maps
from headatlas.atlas.store import Atlas
from headatlas.numeric.sampling import random_sample


def sample_maps(atlas: Atlas, of: str, size: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Numbers of at most `size` maps, counted through (example, layer, head) and increasing, and their features."""
    shape, heads = atlas.array("features", of).shape[:3], existing_heads(atlas)
    seeds = [[seed, 1, layer * shape[2] + head] for layer, head in heads.tolist()]
    index = random_sample(shape[0], heads, size, seeds, remainder=[seed, 0])
    index, features = read_maps(atlas, "features", index, of)
    return np.ravel_multi_index(tuple(index.T), shape), features.astype(np.float32)
