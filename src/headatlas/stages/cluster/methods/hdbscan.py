"""HDBSCAN: clusters of any density, and noise between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import AtlasLike
from headatlas.errors import DataError, OptionError
from headatlas.options import Auto, option, public
from headatlas.stages.cluster import auto
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import core_distances, cuml, noise
from headatlas.stages.cluster.fit import ROOM, Labels, NearestFit, by_size, means
from headatlas.stages.cluster.method import LABELS, Backends, Method, Request, Shared, Units
from headatlas.stages.cluster.vectors import Floats

LEAST = 5  # maps in the smallest cluster that `auto` takes
MOST_NEIGHBORS = 10
SWEEP = (0.0025, 0.005, 0.01, 0.02)  # of the maps


def _sklearn(x: Floats, min_cluster_size: int, min_samples: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    # kd_tree keeps no matrix of all distances, which brute force does
    model = HDBSCAN(min_cluster_size=min_cluster_size, min_samples=min_samples, algorithm="kd_tree", copy=True)
    return noise(model.fit_predict(x))


def _cuml(x: Floats, min_cluster_size: int, min_samples: int) -> Labels:
    model = cuml("HDBSCAN")(min_cluster_size=min_cluster_size, min_samples=min_samples, output_type="numpy")
    return noise(model.fit_predict(x))


@dataclass(frozen=True)
class HDBSCAN(Method):
    """Clusters that persist over many densities, none smaller than `min_cluster_size`."""

    name: ClassVar[str] = "hdbscan"
    help: ClassVar[str] = "maps that stay together over many densities; the rest is noise"
    parameter: ClassVar[str] = "min_cluster_size"
    sample: ClassVar[int] = 8_000
    trial: ClassVar[int] = 3000
    backends: ClassVar[Backends] = {"sklearn": _sklearn, "cuml": _cuml}
    keeps_fitted_labels: ClassVar[bool] = True

    min_cluster_size: int | Auto = option(
        "auto",
        least=2,
        help="Maps in the smallest cluster, or auto.",
        auto=f"one map in two hundred, at least {LEAST}",
    )
    min_samples: int | None = option(
        None,
        least=1,
        help=f"Maps around a map, itself included, that tell its density (min_cluster_size, at most {MOST_NEIGHBORS}).",
    )
    fitted: int = 0  # points, once settled

    def check_count(self, count: int) -> None:
        """Refuse larger clusters, or more neighbors, than there are maps."""
        for name in ("min_cluster_size", "min_samples"):
            value = getattr(self, name)
            if isinstance(value, int) and value > count:
                raise OptionError(f"{name} {value}: choose between 1 and the number of maps, {count}")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True, units: Units | None = None
    ) -> tuple[Self, Stability, list[tuple[float, float]]]:
        """One map in two hundred, and at least five."""
        size = max(LEAST, round(len(x) / 200)) if self.min_cluster_size == "auto" else self.min_cluster_size
        size = min(size, len(x))
        neighbors = self.min_samples or min(size, MOST_NEIGHBORS)
        settled = replace(self, min_cluster_size=size, min_samples=neighbors, fitted=len(x))
        (stable,) = auto.stability([settled.regroup], small, seed=seed, bar=bar)
        return settled, stable, [(float(size), stable.mean)]

    def fit(self, x: Floats, seed: int) -> tuple[NearestFit, Labels]:
        """Clusters as the backend finds them; each reaches as far as its loosest member is from another."""
        neighbors = int(self.min_samples or 1)
        labels = by_size(self.backends[self.backend](x, self.min_cluster_size, neighbors), x)
        centers = means(x, labels)
        if not len(centers):
            raise DataError(
                f"min_cluster_size {self.min_cluster_size}: all maps are noise. Choose a smaller one, or another method"
            )
        order = np.argsort(labels < 0, kind="stable")
        owner = labels[order][: np.count_nonzero(labels >= 0)]
        reach = loosest(x, labels, core_distances(x, neighbors))
        return NearestFit(centers.astype(np.float32), x[order], owner, reach, crowd=max(0, neighbors - 1)), labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Different maps of a bootstrap sample, with sizes in proportion."""
        share, neighbors = len(x) / self.fitted, int(self.min_samples or 1)
        size = max(2, round(int(self.min_cluster_size) * share))
        labels: Labels = self.backends[self.backend](x, size, max(min(2, neighbors), round(neighbors * share)))
        return labels

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Several smallest clusters, as shares of all maps."""
        return [cls(size) for size in sorted({max(LEAST, round(len(x) * share)) for share in SWEEP})]

    @property
    def least_maps(self) -> int:
        """One cluster of the smallest size, and as many neighbors."""
        size = 1 if self.min_cluster_size == "auto" else self.min_cluster_size
        return max(size, self.min_samples or 1)


def loosest(x: Floats, labels: Labels, core: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each cluster the largest mutual reachability distance of a member to its nearest other member.

    Mutual reachability of two points is the largest of their distance and the core distance of either.
    """
    reach = []
    for cluster in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == cluster)
        points, cores = x[members].astype(np.float64), core[members]
        lengths, worst = np.einsum("ij,ij->i", points, points), 0.0
        rows = max(1, ROOM // 2 // len(members))
        for start in range(0, len(members), rows):
            part = slice(start, start + rows)
            distances = lengths[part, None] + lengths - 2 * (points[part] @ points.T)
            distances = np.maximum(np.sqrt(distances.clip(0)), cores)
            distances[np.arange(len(distances)), np.arange(start, start + len(distances))] = np.inf
            worst = max(worst, float(np.maximum(distances.min(1), cores[part]).max()))
        reach.append(worst)
    return np.array(reach)


@public(HDBSCAN.options(), LABELS)
def hdbscan(
    atlas: AtlasLike,
    *,
    min_cluster_size: int | Auto = "auto",
    min_samples: int | None = None,
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by densities of every scale.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://hdbscan.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.hdbscan(atlas, min_cluster_size=4).shape
    (2, 6, 12)
    """
    from headatlas.stages.cluster.stage import cluster

    method = HDBSCAN(min_cluster_size, min_samples, backend=backend)
    return cluster(atlas, Request(method, **shared))
