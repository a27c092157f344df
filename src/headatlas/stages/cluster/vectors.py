"""The vectors that are clustered: a sample of maps, equally many of each head, and the axes of their variance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.blocks import row_ranges
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError

Floats = NDArray[np.float32]
Index = NDArray[np.int64]  # a row a map: example, layer, head
Level = Literal["maps", "heads"]

VARIANCE = 0.95
MOST_AXES = 64
ROWS = 8192  # at a time; fixed, so that sums do not depend on the blocks of an array


@dataclass(frozen=True)
class Space:
    """The principal axes of a sample; `apply` gives the coordinates of any map on them."""

    mean: Floats
    axes: Floats  # (feature, axis)

    def apply(self, values: NDArray[Any]) -> Floats:
        """Coordinates (map, axis)."""
        found = np.empty((len(values), self.axes.shape[1]), np.float32)
        for start in range(0, len(values), ROWS):
            part = values[start : start + ROWS].astype(np.float32)
            found[start : start + ROWS] = (part - self.mean) @ self.axes
        return found


def fit_space(values: NDArray[Any]) -> Space:
    """Principal axes with 95 % of the variance, at most 64; a sign is chosen so that the largest entry is positive.

    >>> fit_space(np.array([[0.0, 1.0], [3.0, 1.0], [6.0, 1.0]])).axes.tolist()
    [[1.0], [0.0]]
    """
    if not np.isfinite(values).all():
        raise DataError("some features are infinite: make the features again with another encoder")
    if len(values) < 2 or (values == values[0]).all():
        raise DataError("all maps have the same features: nothing to cluster. Choose other features with --of")
    mean = values.mean(0, dtype=np.float64)
    covariance = np.zeros((len(mean), len(mean)))
    for start in range(0, len(values), ROWS):
        part = values[start : start + ROWS].astype(np.float64) - mean
        covariance += part.T @ part
    variance, axes = np.linalg.eigh(covariance)
    variance, axes = variance[::-1].clip(0), axes[:, ::-1]
    enough = int(np.searchsorted(np.cumsum(variance) / variance.sum(), VARIANCE - 1e-12)) + 1
    axes = axes[:, : min(enough, MOST_AXES)]
    signs = np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return Space(mean.astype(np.float32), (axes * signs).astype(np.float32))


def heads_of(atlas: Atlas) -> NDArray[np.int64]:
    """The heads that exist, a row each: layer, head."""
    table = atlas.table("heads", columns=["layer", "head"])
    return np.stack([np.asarray(table[name]) for name in ("layer", "head")], 1).astype(np.int64)


def draw(examples: int, heads: NDArray[np.int64], sample: int, seed: int) -> Index:
    """Maps drawn by example number, equally many for each head; all of them if there are no more than `sample`.

    A larger sample with the same seed holds the smaller one.

    >>> draw(3, np.array([[0, 0], [0, 1]]), 100, seed=0)[:3].tolist()
    [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    """
    each = examples if not sample else min(examples, max(1, sample // len(heads)))
    index = np.empty((len(heads), each, 3), np.int64)
    for row, (layer, head) in zip(index, heads.tolist(), strict=True):
        whole = each == examples
        row[:, 0] = (
            np.arange(examples) if whole else np.random.default_rng([seed, layer, head]).permutation(examples)[:each]
        )
        row[:, 1:] = layer, head
    flat = index.reshape(-1, 3)
    return flat[np.lexsort(flat.T[::-1])]


def fewer(index: Index, most: int, seed: int) -> NDArray[np.int64]:
    """Places of at most `most` maps of a sample, spread evenly over heads, in order."""
    if len(index) <= most:
        return np.arange(len(index))
    key = np.random.default_rng([seed, len(index)]).random(len(index))
    head = index[:, 1] * (index[:, 2].max() + 1) + index[:, 2]
    order = np.lexsort((key, head))
    counts = np.unique(head, return_counts=True)[1]
    turn = np.empty(len(index), np.int64)  # how many maps of the same head come before this one
    turn[order] = np.concatenate([np.arange(count) for count in counts])
    return np.sort(np.lexsort((key, turn))[:most])


def read_maps(atlas: Atlas, of: str, index: Index) -> tuple[Index, NDArray[Any]]:
    """Features of these maps, read block by block; maps that do not exist are left out of both."""
    found = np.empty((len(index), atlas.array("features", of).shape[-1]), np.float16)
    for examples, values in _read(atlas, of, "reading a sample"):
        part = slice(*np.searchsorted(index[:, 0], [examples.start, examples.stop]))
        example, layer, head = index[part].T
        found[part] = values[example - examples.start, layer, head]
    there = ~np.isnan(found).any(-1)
    if not there.any():
        raise DataError(f"no map has features in {of}: make them again with `{atlas.command('features')}`")
    return index[there], found[there]


def read_heads(atlas: Atlas, of: str, heads: NDArray[np.int64]) -> tuple[Index, NDArray[Any]]:
    """Mean features of each head over its examples; the first column of the index is a running number."""
    shape = atlas.array("features", of).shape
    sums, counts = np.zeros((len(heads), shape[-1])), np.zeros(len(heads), np.int64)
    for _, values in _read(atlas, of, "reading features"):
        for place, (layer, head) in enumerate(heads.tolist()):
            own = values[:, layer, head].astype(np.float64)
            there = ~np.isnan(own).any(-1)
            sums[place] += own[there].sum(0)
            counts[place] += there.sum()
    there = counts > 0
    if not there.any():
        raise DataError(f"no map has features in {of}: make them again with `{atlas.command('features')}`")
    index = np.column_stack([np.arange(len(heads)), heads])[there]
    return index, (sums[there] / counts[there, None]).astype(np.float32)


def _read(atlas: Atlas, of: str, title: str) -> Iterator[tuple[range, NDArray[Any]]]:
    parts = row_ranges(atlas, "features", of)
    with progress.bar(title, parts[-1].stop, "examples") as advance:
        for examples in parts:
            yield examples, atlas.read("features", slice(examples.start, examples.stop), of)
            advance(len(examples))
