"""Encoders without a network: principal components of the pooled maps, and standardised statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

COMPONENTS = 64
FAR = 100.0  # deviations: an odd map in a statistic that hardly varies must not leave the range of float16


@dataclass(frozen=True)
class PooledEncoder:
    """Principal components of the square root of the pooled map, at most 64, fitted on a sample of maps."""

    mean: NDArray[np.float32]
    components: NDArray[np.float32]  # (component, query · key)
    facts: dict[str, Any]

    name: ClassVar[str] = "pooled"
    reads: ClassVar[tuple[str, ...]] = ("pooled",)

    @classmethod
    def fit(cls, maps: NDArray[Any], facts: dict[str, Any]) -> PooledEncoder:
        """Fit to a sample of maps (map, query, key)."""
        mean, components, share = principal(_rooted(maps).double())
        found = {"maps_fitted": len(maps), "variance_kept": round(share, 4)}
        return cls(mean.astype(np.float32), components.astype(np.float32), facts | found)

    @property
    def width(self) -> int:
        """Number of components."""
        return len(self.components)

    def recipe(self) -> dict[str, Any]:
        """What decides its vectors, and how much of the variance they keep."""
        return self.facts

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Components of each map."""
        assert pooled is not None
        # torch, not NumPy: its threads are held at one, so that bits do not depend on where it runs
        centred = _rooted(pooled) - torch.from_numpy(self.mean)
        found: NDArray[np.float32] = (centred @ torch.from_numpy(self.components).T).numpy()
        return found


def _rooted(maps: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(maps)).float().sqrt().flatten(1)


def principal(rows: torch.Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Mean, principal components (component, column) and the share of variance they keep.

    Components end where the variance does; rows that are all equal get one component of zeros. The largest weight of a
    component is positive.

    >>> mean, components, share = principal(torch.tensor([[0.0, 1.0], [0.0, 3.0], [0.0, 8.0]], dtype=torch.float64))
    >>> mean.tolist(), components.tolist(), round(share, 6)
    ([0.0, 4.0], [[0.0, 1.0]], 1.0)
    """
    mean = rows.mean(0)
    centred = rows - mean
    tall = len(rows) >= rows.shape[1]  # the smaller of the two products has the same variances
    variances, vectors = torch.linalg.eigh(centred.T @ centred if tall else centred @ centred.T)
    kept = variances > max(1e-10 * float(variances.sum()), 1e-12 * float(torch.linalg.vector_norm(rows)) ** 2)
    count = min(COMPONENTS, int(kept.sum()))
    if not count:
        return mean.numpy(), np.zeros((1, rows.shape[1])), 1.0
    variances, vectors = variances.clamp(min=0), vectors[:, -count:].flip(1).T
    components = vectors if tall else vectors @ centred / variances[-count:].flip(0).sqrt()[:, None]
    largest = components.gather(1, components.abs().argmax(1, keepdim=True))
    share = float(variances[-count:].sum() / variances.sum())
    return mean.numpy(), (components * largest.sign()).contiguous().numpy(), share


@dataclass(frozen=True)
class StatsEncoder:
    """Statistics of the map, each with mean 0 and deviation 1 over a sample of maps; what is undefined is 0."""

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

    @property
    def width(self) -> int:
        """Number of statistics."""
        return len(self.mean)

    def recipe(self) -> dict[str, Any]:
        """What decides its vectors."""
        return self.facts

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Standardised statistics of each map."""
        assert stats is not None
        values = (stats.astype(np.float64) - self.mean) / self.deviation
        return np.clip(np.where(np.isnan(stats), 0, values), -FAR, FAR).astype(np.float32)
