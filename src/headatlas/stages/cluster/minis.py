"""Mini-clusters, which stand for the maps in them, and bootstrap samples, in which they have other means and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.hierarchy import Reals
from headatlas.stages.cluster.fit import Labels, of_centers
from headatlas.stages.cluster.vectors import Floats

LEAVES = 400  # mini-clusters at most …
MAPS_PER_LEAF = 5  # … and one for so many maps
LEARNED = 20_000  # maps at most from which their centers are found
SAMPLES = 20  # bootstrap samples
LEAST_UNITS = 10  # groups of examples from which on whole groups are drawn; with fewer, maps are

Weights = NDArray[np.int64]


def leaf_count(maps: int) -> int:
    """Number of mini-clusters for so many maps.

    >>> leaf_count(100_000), leaf_count(100), leaf_count(3), leaf_count(1)
    (400, 20, 2, 1)
    """
    return min(maps, max(2, min(LEAVES, maps // MAPS_PER_LEAF)))


@dataclass(frozen=True)
class Points:
    """Weighted points, each of which stands for the maps of a mini-cluster."""

    means: Reals  # (mini-cluster, axis); 0 where there are no maps
    sizes: Reals  # (mini-cluster,)


@dataclass(frozen=True)
class MiniClusters:
    """Small groups of maps. All of them hold maps."""

    centers: Floats  # (mini-cluster, axis)
    of_maps: Labels  # the mini-cluster of each map

    def weighted(self, x: Floats, weights: NDArray[Any]) -> Points:
        """Means and sizes if each map counts `weights` times."""
        from scipy.sparse import csr_array

        ends = (self.of_maps, np.arange(len(x)))
        table = csr_array((weights.astype(np.float64), ends), shape=(len(self.centers), len(x)))
        sizes = np.bincount(self.of_maps, weights, minlength=len(self.centers)).astype(np.float64)
        return Points((table @ x.astype(np.float64)) / np.maximum(sizes, 1)[:, None], sizes)


def mini_clusters(x: Floats, weights: Weights, seed: int) -> MiniClusters:
    """Mini-clusters of points of some weights, by KMeans on a part of them if there are very many."""
    from sklearn.cluster import KMeans

    learned = np.arange(len(x))
    if len(x) > LEARNED:
        learned = np.sort(np.random.default_rng([seed, 79]).permutation(len(x))[:LEARNED])
    model = KMeans(leaf_count(len(x)), n_init=1, random_state=seed, algorithm="lloyd")
    centers = model.fit(x[learned], sample_weight=weights[learned].astype(x.dtype)).cluster_centers_
    used, of_maps = np.unique(of_centers(centers).assign(x), return_inverse=True)
    return MiniClusters(centers[used].astype(np.float32), of_maps.astype(np.int32))


def draws(count: int, units: NDArray[Any] | None, seed: int) -> list[Weights]:
    """How often each point is in each bootstrap sample; points of one unit (a group of examples) equally often."""
    unit = np.arange(count) if units is None else np.unique(units, return_inverse=True)[1]
    total = int(unit.max()) + 1
    if total < LEAST_UNITS:
        unit, total = np.arange(count), count
    rng = np.random.default_rng([seed, 78])
    return [np.bincount(rng.integers(total, size=total), minlength=total)[unit] for _ in range(SAMPLES)]
