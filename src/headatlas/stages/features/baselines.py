"""Encoders without a network: principal components of the pooled maps, and standardized statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.numeric.pca import PrincipalAxes, fit_pca

COMPONENTS = 64
FAR = 100.0  # deviations: an odd map in a statistic that hardly varies must not leave the range of float16


@dataclass(frozen=True)
class PooledEncoder:
    """Principal components of the square root of the pooled map, at most 64, fitted on a sample of maps."""

    space: PrincipalAxes  # of query · key
    facts: dict[str, Any]

    name: ClassVar[str] = "pooled"
    reads: ClassVar[tuple[str, ...]] = ("pooled",)

    @classmethod
    def fit(cls, maps: NDArray[Any], facts: dict[str, Any]) -> PooledEncoder:
        """Fit to a sample of maps (map, query, key)."""
        space = principal(_rooted(maps).numpy())
        fitted = {"maps_fitted": len(maps), "variance_kept": round(float(space.shares.sum()), 4)}
        return cls(space, facts | fitted)

    def arrays(self) -> dict[str, Any]:
        """What was fitted."""
        return dict(vars(self.space))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], facts: dict[str, Any]) -> PooledEncoder:
        """The same encoder from what was fitted, and its recipe."""
        return cls(PrincipalAxes(**arrays), facts)

    @property
    def width(self) -> int:
        """Number of components."""
        return len(self.space.shares)

    def recipe(self) -> dict[str, Any]:
        """What determines its vectors, and how much of the variance they keep."""
        return self.facts

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Components of each map."""
        assert pooled is not None
        # by torch, not `space.apply`, whose last bits differ: features stay the same between versions
        centered = _rooted(pooled) - torch.from_numpy(self.space.mean)
        vectors: NDArray[np.float32] = (centered @ torch.from_numpy(self.space.axes)).numpy()
        return vectors


def _rooted(maps: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(maps)).float().sqrt().flatten(1)


def principal(rows: NDArray[np.float32]) -> PrincipalAxes:
    """At most 64 principal axes, without those of no variance. Rows that are all equal get one axis of zeros.

    >>> space = principal(np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 8.0]], np.float32))
    >>> space.mean.tolist(), space.axes.tolist(), space.shares.round(6).tolist()
    ([0.0, 4.0], [[0.0], [1.0]], [1.0])
    """
    space = fit_pca(rows, components=COMPONENTS)
    squares = np.einsum("ij,ij->j", rows, rows, dtype=np.float64)
    total = (squares - len(rows) * rows.mean(0, dtype=np.float64) ** 2).sum()  # about the mean
    count = int((space.shares * total > max(1e-10 * total, 1e-12 * squares.sum())).sum())  # the rest is rounding
    if not count:
        return PrincipalAxes(space.mean, np.zeros((rows.shape[1], 1), np.float32), np.ones(1))
    return space.first(count)


@dataclass(frozen=True)
class StatsEncoder:
    """Statistics of the map, each with mean 0 and deviation 1 over a sample of maps; undefined ones are 0.

    Statistics that only some atlases have, which come last, are no part of it: vectors depend on the map alone.
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]  # infinite for a statistic that does not vary
    facts: dict[str, Any]

    name: ClassVar[str] = "stats"
    reads: ClassVar[tuple[str, ...]] = ("stats",)

    @classmethod
    def fit(cls, stats: NDArray[Any], facts: dict[str, Any]) -> StatsEncoder:
        """Fit to the statistics of a sample of maps (map, stat)."""
        values = stats.astype(np.float64)
        known = ~np.isnan(values)
        counts = np.maximum(known.sum(0), 1)
        mean = np.where(known, values, 0).sum(0) / counts
        deviation = np.sqrt((np.where(known, values - mean, 0) ** 2).sum(0) / counts)
        deviation[deviation <= np.maximum(1e-6 * np.abs(mean), 1e-12)] = np.inf
        return cls(mean, deviation, facts | {"maps_fitted": len(stats)})

    def arrays(self) -> dict[str, Any]:
        """What was fitted."""
        return {"mean": self.mean, "deviation": self.deviation}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], facts: dict[str, Any]) -> StatsEncoder:
        """The same encoder from what was fitted, and its recipe."""
        return cls(**arrays, facts=facts)

    @property
    def width(self) -> int:
        """Number of statistics."""
        return len(self.mean)

    def recipe(self) -> dict[str, Any]:
        """What determines its vectors."""
        return self.facts

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Standardized statistics of each map."""
        assert stats is not None
        stats = stats[:, : self.width]
        values = (stats.astype(np.float64) - self.mean) / self.deviation
        return np.clip(np.where(np.isnan(stats), 0, values), -FAR, FAR).astype(np.float32)
