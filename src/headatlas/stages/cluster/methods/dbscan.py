"""DBSCAN: clusters where maps are dense, and noise between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import wording
from headatlas.atlas.schema import NOISE
from headatlas.atlas.store import AtlasLike
from headatlas.errors import DataError, OptionError
from headatlas.options import Auto, option, public
from headatlas.stages.cluster import auto
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import core_distances, cuml, noise
from headatlas.stages.cluster.fit import ROOM, Labels, NearestFit, by_size, means
from headatlas.stages.cluster.method import LABELS, Backends, Method, Request, Shared, Units
from headatlas.stages.cluster.vectors import Floats

SWEEP = (0.6, 0.8, 1.0, 1.25)  # of the knee


def _sklearn(x: Floats, eps: float, min_samples: int, cores: NDArray[np.bool_]) -> Labels:
    """Connected parts of the core points, found by flooding: scikit-learn's own keeps every pair of neighbors."""
    points = x[cores].astype(np.float64)
    lengths = np.einsum("ij,ij->i", points, points)
    components = np.full(len(points), NOISE, np.int32)
    unreached = np.arange(len(points))
    rows = max(1, ROOM // 2 // max(1, len(points)))
    cluster = -1
    while len(unreached):
        cluster += 1
        components[unreached[0]] = cluster
        edge, unreached = unreached[:1], unreached[1:]
        while len(edge) and len(unreached):
            part, edge = edge[:rows], edge[rows:]
            distances = lengths[part, None] + lengths[unreached] - 2 * (points[part] @ points[unreached].T)
            near = (distances <= eps**2 * (1 + 1e-12)).any(0)
            components[unreached[near]] = cluster
            edge, unreached = np.concatenate([edge, unreached[near]]), unreached[~near]
    labels = np.full(len(cores), NOISE, np.int32)
    labels[cores] = components
    return labels


def _cuml(x: Floats, eps: float, min_samples: int, cores: NDArray[np.bool_]) -> Labels:
    model = cuml("DBSCAN")(eps=eps, min_samples=min_samples, output_type="numpy")
    return np.where(cores, noise(model.fit_predict(x)), np.int32(NOISE))


@dataclass(frozen=True)
class DBSCAN(Method):
    """Clusters of core points: those with at least `min_samples` points, themselves included, within `eps`."""

    name: ClassVar[str] = "dbscan"
    help: ClassVar[str] = "maps connected by short steps, one density for all; the rest is noise"
    parameter: ClassVar[str] = "eps"
    sample: ClassVar[int] = 20_000
    backends: ClassVar[Backends] = {"sklearn": _sklearn, "cuml": _cuml}

    eps: float | Auto = option(
        "auto",
        above=0,
        noun="distance",
        help="Radius of the neighborhood, or auto.",
        auto="the knee (farthest from the chord) of the sorted distances to the `min_samples`-th neighbor, "
        "the map itself counted",
    )
    min_samples: int = option(10, least=1, help="Maps within eps that make a core point, itself included.")
    share: float = 0.0  # of core points, once settled

    def check_count(self, count: int) -> None:
        """Refuse more neighbors than maps."""
        if self.min_samples > count:
            maps = wording.many(count, "map")
            raise OptionError(f"min_samples {self.min_samples}: there are only {maps}. Choose a smaller one")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True, units: Units | None = None
    ) -> tuple[Self, Stability, list[tuple[float, float]]]:
        """The knee of the sorted distances to the `min_samples`-th neighbor."""
        distances = core_distances(x, self.min_samples)
        eps = auto.knee(distances) if self.eps == "auto" else float(self.eps)
        if not eps:
            raise DataError("eps auto: most maps have exact copies, so no distance stands out. Give eps")
        if eps < distances.min():
            half, most = np.quantile(distances, [0.5, 0.9])
            raise DataError(
                f"eps {eps:g}: all maps are noise, none has {self.min_samples} within it. "
                f"Half of them would be core points with eps {half:.3g}, nine in ten with {most:.3g}"
            )
        settled = replace(self, eps=eps, share=float((distances <= eps).mean()))
        (stable,) = auto.stability([settled.regroup], small, seed=seed, bar=bar)
        return settled, stable, [(eps, stable.mean)]

    def fit(self, x: Floats, seed: int) -> tuple[NearestFit, Labels]:
        """Connected core points, and every other map within eps of one."""
        return self._fit(x, float(self.eps), core_distances(x, self.min_samples))

    def _fit(self, x: Floats, eps: float, distances: NDArray[np.float64]) -> tuple[NearestFit, Labels]:
        cores = distances <= eps
        labels = by_size(self.backends[self.backend](x, eps, self.min_samples, cores), x)
        centers = means(x, labels)
        fit = NearestFit(centers.astype(np.float32), x[cores], labels[cores], np.full(len(centers), eps))
        return fit, fit.assign(x)

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Different maps of a bootstrap sample, with eps such that the same share of them are core points."""
        distances = core_distances(x, self.min_samples)
        eps = float(np.quantile(distances, self.share, method="higher"))
        return self._fit(x, max(eps, 1e-12), distances)[1]

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Radii around the knee."""
        middle = auto.knee(core_distances(x, cls.min_samples)) or 1.0
        return [cls(middle * factor) for factor in SWEEP]

    @property
    def least_maps(self) -> int:
        """As many as make one core point."""
        return self.min_samples


@public(DBSCAN.options(), LABELS)
def dbscan(
    atlas: AtlasLike,
    *,
    eps: float | Auto = "auto",
    min_samples: int = 10,
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by density: connected core points, and what lies within `eps` of one.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://dbscan.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.dbscan(atlas, min_samples=4).shape
    (2, 6, 12)
    """
    from headatlas.stages.cluster.stage import cluster

    method = DBSCAN(eps, min_samples, backend=backend)
    return cluster(atlas, Request(method, **shared))
