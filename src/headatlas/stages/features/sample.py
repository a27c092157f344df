"""A sample of maps to fit an encoder to: every head, and examples from first to last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.sampled_maps import read_maps
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError
from headatlas.numeric.sampling import systematic_sample

ROOM = 2**26  # numbers in a sample; they are fitted in float64


@dataclass(frozen=True)
class Sample:
    """What an encoder is made from: a sample of about `size` maps of an array, and the names of the statistics."""

    atlas: Atlas
    size: int
    seed: int

    def __call__(self, array: str) -> NDArray[Any]:
        """One row per map that exists."""
        return sample_maps(self.atlas, array, self.size, self.seed)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the statistics of each map, in order."""
        return tuple(self.atlas.array("stats").attrs["stats"])


def sample_maps(atlas: Atlas, array: str, size: int, seed: int) -> NDArray[Any]:
    """About `size` maps of an array (map, …), without those of heads that do not exist."""
    examples, layers, heads, *shape = atlas.array(array).shape
    cells = np.argwhere(np.ones((layers, heads), bool))
    index = systematic_sample(examples, cells, min(size, ROOM // math.prod(shape)), seed)
    maps = read_maps(atlas, array, index)[1]
    if not len(maps):
        raise DataError(f"{atlas.files.url} has no maps to fit an encoder to: all sampled maps are empty")
    return maps
