"""KMeans: clusters around k centers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headatlas import progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.options import Auto, option
from headatlas.stages.cluster import auto
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import cuml
from headatlas.stages.cluster.fit import Labels, NearestFit, by_size, of_centers, old_numbers
from headatlas.stages.cluster.method import Backends, Method, Request
from headatlas.stages.cluster.vectors import Floats, Level

RESTARTS = 10
TRIAL_RESTARTS = 3  # one start alone would show the luck of the start, not the data


def kmeans(
    atlas: Atlas,
    *,
    k: int | Auto = "auto",
    of: str | None = None,
    name: str | None = None,
    level: Level = "maps",
    sample: int = 100_000,
    seed: int = 0,
    backend: str = "sklearn",
    workers: int = 0,
    scheduler: str | None = None,
) -> Labels:
    """Cluster maps by the nearest of `k` centers.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://kmeans.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.kmeans(atlas, k=4).shape
    (2, 6, 12)

    Parameters
    ----------
    atlas : Atlas
        An atlas with features.
    k : int or "auto"
        Number of clusters; `auto` takes the most stable of a grid.
    of, name : str, optional
        The features to cluster (the latest), and the name of the result ("kmeans").
    level : "maps" or "heads"
        With "heads" the mean vector of each head is clustered, and its maps share its label.
    sample : int
        Maps that give the centers, equally many of each head. 0: all maps, block by block.
    seed : int
        Random seed of the sample and of the starts.
    backend : "sklearn" or "cuml"
        Library that fits.
    workers, scheduler : int, str, optional
        Local processes or a Dask cluster that label blocks.

    Returns
    -------
    labels : array (example, layer, head)
        0 is the largest cluster; -2 a head that does not exist.
    """
    from headatlas.stages.cluster.stage import cluster

    return cluster(atlas, Request(KMeans(k, backend=backend), of, name, level, sample, seed, workers, scheduler))


def _sklearn(x: Floats, k: int, seed: int, restarts: int, weights: NDArray[Any] | None) -> NDArray[Any]:
    from sklearn.cluster import KMeans

    model = KMeans(k, n_init=restarts, random_state=seed, algorithm="lloyd").fit(x, sample_weight=weights)
    centers: NDArray[Any] = model.cluster_centers_
    return centers


def _cuml(x: Floats, k: int, seed: int, restarts: int, weights: NDArray[Any] | None) -> NDArray[Any]:
    model = cuml("KMeans")(n_clusters=k, n_init=restarts, random_state=seed, init="k-means++", output_type="numpy")
    return np.asarray(model.fit(x, sample_weight=weights).cluster_centers_)


@dataclass(frozen=True)
class KMeans(Method):
    """Clusters around k centers."""

    name: ClassVar[str] = "kmeans"
    help: ClassVar[str] = "maps nearest to the same of k centers"
    parameter: ClassVar[str] = "k"
    sample: ClassVar[int] = 100_000
    backends: ClassVar[Backends] = {"sklearn": _sklearn, "cuml": _cuml}
    refines_over_all: ClassVar[bool] = True

    k: int | Auto = option("auto", least=2, help="Number of clusters, or auto.", auto=auto.STABLEST)

    def check_count(self, count: int) -> None:
        """Refuse more clusters than maps."""
        if self.k != "auto" and self.k > count:
            raise OptionError(f"k {self.k}: there are only {wording.many(count, 'map')}. Choose a smaller k, or auto")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True
    ) -> tuple[Self, Stability, list[tuple[float, float]]]:
        """The k of the grid with the highest stability; of those that are as good, the smallest."""
        candidates = [replace(self, k=k) for k in (auto.grid(len(small)) if self.k == "auto" else [self.k])]
        best, stabilities = auto.most_stable([each.regroup for each in candidates], small, seed=seed, bar=bar)
        tried = [(float(each.k), stable.mean) for each, stable in zip(candidates, stabilities, strict=True)]
        return candidates[best], stabilities[best], tried

    def fit(self, x: Floats, seed: int) -> tuple[NearestFit, Labels]:
        """The best of a few starts."""
        fit = of_centers(self.backends[self.backend](x, self.k, seed, RESTARTS, None))
        old = fit.assign(x)
        labels = by_size(old, x)
        order = old_numbers(old, labels)
        if len(order) < len(fit.centers):
            progress.say(f"only {len(order)} of {self.k} clusters have maps: many maps are the same")
        return of_centers(fit.centers[order]), labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """The best of a few starts on a bootstrap sample; a map drawn twice weighs twice."""
        k = min(int(self.k), len(x))
        centers = self.backends[self.backend](x, k, seed, TRIAL_RESTARTS, weights.astype(x.dtype))
        return of_centers(centers).assign(x)

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Each number of clusters."""
        return [cls(k) for k in ks]

    @property
    def least_maps(self) -> int:
        """One map per cluster."""
        return 1 if self.k == "auto" else self.k
