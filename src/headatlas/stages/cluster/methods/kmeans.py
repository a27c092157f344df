"""KMeans: clusters around k centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.store import AtlasLike
from headatlas.options import Auto, public
from headatlas.stages.cluster.backends import cuml
from headatlas.stages.cluster.fit import Labels, NearestFit, by_size, of_centers, old_numbers
from headatlas.stages.cluster.method import LABELS, Backends, PartitionMethod, Request, Shared
from headatlas.stages.cluster.vectors import Floats

RESTARTS = 10
TRIAL_RESTARTS = 3  # with one start, stability would depend on the start rather than the data


def _sklearn(x: Floats, k: int, seed: int, restarts: int, weights: NDArray[Any] | None) -> NDArray[Any]:
    from sklearn.cluster import KMeans

    model = KMeans(k, n_init=restarts, random_state=seed, algorithm="lloyd").fit(x, sample_weight=weights)
    centers: NDArray[Any] = model.cluster_centers_
    return centers


def _cuml(x: Floats, k: int, seed: int, restarts: int, weights: NDArray[Any] | None) -> NDArray[Any]:
    model = cuml("KMeans")(n_clusters=k, n_init=restarts, random_state=seed, init="k-means++", output_type="numpy")
    return np.asarray(model.fit(x, sample_weight=weights).cluster_centers_)


@dataclass(frozen=True)
class KMeans(PartitionMethod):
    """Clusters around k centers."""

    name: ClassVar[str] = "kmeans"
    help: ClassVar[str] = "maps nearest to the same of k centers"
    sample: ClassVar[int] = 100_000
    backends: ClassVar[Backends] = {"sklearn": _sklearn, "cuml": _cuml}
    refines_over_all: ClassVar[bool] = True

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
        """The best of a few starts on a bootstrap sample; a map drawn twice has weight 2."""
        k = min(int(self.k), len(x))
        centers = self.backends[self.backend](x, k, seed, TRIAL_RESTARTS, weights.astype(x.dtype))
        return of_centers(centers).assign(x)


@public(KMeans.options(), LABELS)
def kmeans(
    atlas: AtlasLike,
    *,
    k: int | Auto = "auto",
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by the nearest of `k` centers.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://kmeans.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.kmeans(atlas, k=4).shape
    (2, 6, 12)
    """
    from headatlas.stages.cluster.stage import cluster

    return cluster(atlas, Request(KMeans(k, backend=backend), **shared))
