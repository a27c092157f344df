"""The vectors that are clustered: a sample of maps, or the means of heads, and the axes of their variance."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.sampled_maps import existing_heads, read_maps
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError
from headatlas.numeric.pca import PrincipalAxes, fit_pca
from headatlas.numeric.sampling import Index, random_sample

Floats = NDArray[np.float32]
Level = Literal["maps", "heads"]

VARIANCE = 0.95
MOST_AXES = 64


def fit_space(values: NDArray[Any]) -> PrincipalAxes:
    """Principal axes that keep 95 % of the variance, at most 64.

    >>> fit_space(np.array([[0.0, 1.0], [3.0, 1.0], [6.0, 1.0]])).axes.tolist()
    [[1.0], [0.0]]
    """
    if not np.isfinite(values).all():
        raise DataError("some features are infinite: make the features again with another encoder")
    if len(values) < 2 or (values == values[0]).all():
        raise DataError("all maps have the same features: nothing to cluster. Choose other features with --of")
    return fit_pca(values, components=MOST_AXES, variance=VARIANCE)


def sample_maps(atlas: Atlas, of: str, size: int, seed: int) -> tuple[Index, NDArray[Any]]:
    """Index (example, layer, head) and features of about `size` maps, equally many of each head; of all maps if 0.

    Larger samples include smaller ones.
    """
    examples, heads = atlas.array("features", of).shape[0], existing_heads(atlas)
    seeds = [[seed, layer, head] for layer, head in heads.tolist()]
    index, values = read_maps(
        atlas, "features", random_sample(examples, heads, size or examples * len(heads), seeds), of
    )
    if not len(index):
        raise _no_features(atlas, of)
    return index, values


def read_heads(atlas: Atlas, of: str) -> tuple[Index, NDArray[Any]]:
    """Mean features of each head over its examples; the first column of the index is a running number."""
    heads, (examples, *_, width) = existing_heads(atlas), atlas.array("features", of).shape
    sums, counts = np.zeros((len(heads), width)), np.zeros(len(heads), np.int64)
    with progress.bar("reading features", examples, "examples") as advance:
        for rows, values in read_blocks(atlas, "features", of, most_bytes=0):
            for number, (layer, head) in enumerate(heads.tolist()):
                maps = values[:, layer, head].astype(np.float64)
                exists = ~np.isnan(maps).any(-1)
                sums[number] += maps[exists].sum(0)
                counts[number] += exists.sum()
            advance(len(rows))
    exists = counts > 0
    if not exists.any():
        raise _no_features(atlas, of)
    index = np.column_stack([np.arange(len(heads)), heads])[exists]
    return index, (sums[exists] / counts[exists, None]).astype(np.float32)


def _no_features(atlas: Atlas, of: str) -> DataError:
    return DataError(f"no map has features in {of}: make them again with `{atlas.command('features')}`")
