"""A Gaussian mixture: clusters that may be stretched, each map in its most likely component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.store import AtlasLike
from headatlas.errors import DataError
from headatlas.options import Auto, option, public
from headatlas.stages.cluster.fit import ROOM, Fit, Labels, by_size, old_numbers
from headatlas.stages.cluster.method import LABELS, Backends, PartitionMethod, Request, Shared
from headatlas.stages.cluster.vectors import Floats

Covariance = Literal["diag", "full", "tied", "spherical"]

RESTARTS = 3  # each initialized by a separate KMeans
REGULAR = 1e-6  # of the mean variance, added to every variance so that exact copies cause no singular covariance


def _sklearn(x: NDArray[Any], k: int, covariance: str, seed: int, restarts: int) -> Any:
    """A fitted `GaussianMixture`."""
    from sklearn.mixture import GaussianMixture

    wide = x.astype(np.float64)
    regular = REGULAR * float(wide.var(0).mean())
    model = GaussianMixture(k, covariance_type=covariance, n_init=restarts, random_state=seed, reg_covar=regular)
    try:
        return model.fit(wide)
    except ValueError as error:  # a component that collapsed
        raise DataError(
            f"k {k}: some of the {covariance} components have too few different maps. "
            "Choose a smaller k, or covariance diag"
        ) from error


@dataclass(frozen=True)
class MixtureFit(Fit):
    """A map takes the component of the highest responsibility."""

    weights: NDArray[np.float64]  # (component)
    means: NDArray[np.float64]  # (component, axis)
    precisions: NDArray[np.float64]  # Cholesky factors of the inverse covariances, as scikit-learn keeps them
    covariance: str

    def assign(self, x: Floats) -> Labels:
        """Cluster of each map, by scikit-learn's own `predict`, in batches that bound the memory."""
        from sklearn.mixture import GaussianMixture

        model = GaussianMixture(len(self.weights), covariance_type=self.covariance)
        model.weights_, model.means_, model.precisions_cholesky_ = self.weights, self.means, self.precisions
        labels = np.empty(len(x), np.int32)
        rows = max(1, ROOM // 4 // max(x.shape[1], len(self.weights)))
        for start in range(0, len(x), rows):
            labels[start : start + rows] = model.predict(x[start : start + rows].astype(np.float64))
        return labels


@dataclass(frozen=True)
class GMM(PartitionMethod):
    """Clusters that are components of a Gaussian mixture."""

    name: ClassVar[str] = "gmm"
    help: ClassVar[str] = "maps most likely under the same of k Gaussians, which may differ in size and stretch"
    sample: ClassVar[int] = 20_000
    trial: ClassVar[int] = 3000
    backends: ClassVar[Backends] = {"sklearn": _sklearn}
    fit_type: ClassVar[type[Fit]] = MixtureFit

    covariance: Covariance = option("diag", help="Shape of the Gaussians: diag, full, tied or spherical.")

    def fit(self, x: Floats, seed: int) -> tuple[MixtureFit, Labels]:
        """The most likely of a few starts; components without maps are left out."""
        model = self.backends[self.backend](x, int(self.k), self.covariance, seed, RESTARTS)
        old = model.predict(x.astype(np.float64))
        labels = by_size(old, x)
        order = old_numbers(old, labels)
        if len(order) < int(self.k):
            progress.say(f"only {len(order)} of {self.k} components have maps")
        precisions = model.precisions_cholesky_
        fit = MixtureFit(
            centers=model.means_[order].astype(np.float32),
            weights=model.weights_[order],
            means=model.means_[order],
            precisions=precisions if self.covariance == "tied" else precisions[order],
            covariance=self.covariance,
        )
        return fit, labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """A mixture of a bootstrap sample, in which a map drawn twice occurs twice."""
        k = min(int(self.k), len(x))
        model = self.backends[self.backend](x.repeat(weights, 0), k, self.covariance, seed, RESTARTS)
        labels: Labels = model.predict(x.astype(np.float64)).astype(np.int32)
        return labels


@public(GMM.options(), LABELS)
def gmm(
    atlas: AtlasLike,
    *,
    k: int | Auto = "auto",
    covariance: Covariance = "diag",
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by a mixture of `k` Gaussians.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://gmm.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.gmm(atlas, k=4).shape
    (2, 6, 12)
    """
    from headatlas.stages.cluster.stage import cluster

    method = GMM(k, covariance, backend=backend)
    return cluster(atlas, Request(method, **shared))
