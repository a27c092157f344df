"""KMeans, DBSCAN and HDBSCAN on plain arrays: settle what is `auto`, fit, and cluster bootstrap samples alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headatlas import progress, wording
from headatlas.errors import DataError, OptionError
from headatlas.stages.cluster import auto
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import backend, core_distances
from headatlas.stages.cluster.fit import ROOM, Fit, Labels, by_size, means, of_centres
from headatlas.stages.cluster.vectors import Floats

Auto = Literal["auto"]
RESTARTS = 10
TRIAL_RESTARTS = 3  # one start alone would show the luck of the start, not the data


class Method(Protocol):
    """A way to cluster points."""

    name: ClassVar[str]
    parameter: ClassVar[str]
    trial: ClassVar[int]  # maps at most in a bootstrap sample

    @property
    def backend(self) -> str:
        """Who does the fitting."""

    def check(self, n: int) -> None:
        """Refuse options that cannot be for n points."""

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True
    ) -> tuple[Method, Stability, list[tuple[float, float]]]:
        """The same with nothing left to choose, its stability on the `small` part of the points, and what was tried."""

    def fit(self, x: Floats, seed: int) -> tuple[Fit, Labels]:
        """Fit all points; clusters are numbered by size."""

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Cluster a bootstrap sample as the settled method would."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What was given or chosen."""


@dataclass(frozen=True)
class KMeans:
    """Clusters around k centres."""

    name: ClassVar[str] = "kmeans"
    parameter: ClassVar[str] = "k"
    trial: ClassVar[int] = 6000
    k: int | Auto = "auto"
    backend: str = "sklearn"

    def check(self, n: int) -> None:
        """Refuse a k that cannot be."""
        backend(self.backend)
        if self.k == "auto":
            return
        if not isinstance(self.k, int) or self.k < 2:
            raise OptionError(f"k {self.k}: give a whole number of at least 2, or auto")
        if self.k > n:
            raise OptionError(f"k {self.k}: there are only {wording.many(n, 'map')}. Choose a smaller k, or auto")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True
    ) -> tuple[KMeans, Stability, list[tuple[float, float]]]:
        """The k of the grid with the highest stability; of those that are as good, the smallest."""
        ways = [replace(self, k=k) for k in (auto.grid(len(small)) if self.k == "auto" else [self.k])]
        found = auto.stability([way.regroup for way in ways], small, seed=seed, bar=bar)
        means = np.array([one.mean for one in found])
        best = int(np.argmax(means >= means.max() - auto.TIE))  # the first
        tried = [(float(way.k), mean) for way, mean in zip(ways, means.tolist(), strict=True)]
        return ways[best], found[best], tried

    def fit(self, x: Floats, seed: int) -> tuple[Fit, Labels]:
        """The best of a few starts."""
        fit = of_centres(backend(self.backend)["kmeans"](x, self.k, seed, RESTARTS, None))
        old = fit.label(x)[0]
        labels = by_size(old, x)
        count = int(labels.max()) + 1
        if count < len(fit.centres):
            progress.say(f"only {count} of {self.k} clusters have maps: many maps are the same")
        first = np.array([np.flatnonzero(labels == cluster)[0] for cluster in range(count)])
        return of_centres(fit.centres[old[first]]), labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """The best of a few starts on a bootstrap sample; a map drawn twice weighs twice."""
        k, fit = min(int(self.k), len(x)), backend(self.backend)["kmeans"]
        centres = fit(x, k, seed, TRIAL_RESTARTS, weights.astype(x.dtype))
        return of_centres(centres).label(x)[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of clusters."""
        return {"k": self.k}


@dataclass(frozen=True)
class DBSCAN:
    """Clusters of core points: those with at least `min_samples` points, themselves included, within `eps`."""

    name: ClassVar[str] = "dbscan"
    parameter: ClassVar[str] = "eps"
    trial: ClassVar[int] = 6000
    eps: float | Auto = "auto"
    min_samples: int = 10
    backend: str = "sklearn"
    share: float = 0.0  # of core points, once settled

    def check(self, n: int) -> None:
        """Refuse what cannot be."""
        backend(self.backend)
        if self.eps != "auto" and not (isinstance(self.eps, int | float) and 0 < self.eps < np.inf):
            raise OptionError(f"eps {self.eps}: give a distance above 0, or auto")
        if self.min_samples < 1:
            raise OptionError(f"min_samples {self.min_samples}: at least 1 is needed")
        if self.min_samples > n:
            raise OptionError(
                f"min_samples {self.min_samples}: there are only {wording.many(n, 'map')}. Choose a smaller one"
            )

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True
    ) -> tuple[DBSCAN, Stability, list[tuple[float, float]]]:
        """The knee of the sorted distances to the `min_samples`-th neighbour."""
        apart = core_distances(x, self.min_samples)
        eps = auto.knee(apart) if self.eps == "auto" else float(self.eps)
        if not eps:
            raise DataError("eps auto: most maps have exact copies, so no distance stands out. Give eps")
        if eps < apart.min():
            half, most = np.quantile(apart, [0.5, 0.9])
            raise DataError(
                f"eps {eps:g}: all maps are noise, none has {self.min_samples} within it. "
                f"Half of them would be core points with eps {half:.3g}, nine in ten with {most:.3g}"
            )
        way = replace(self, eps=eps, share=float((apart <= eps).mean()))
        found = auto.stability([way.regroup], small, seed=seed, bar=bar)[0]
        return way, found, [(eps, found.mean)]

    def fit(self, x: Floats, seed: int) -> tuple[Fit, Labels]:
        """Connected core points, and every other map within eps of one."""
        return self._fit(x, float(self.eps), core_distances(x, self.min_samples))

    def _fit(self, x: Floats, eps: float, apart: NDArray[np.float64]) -> tuple[Fit, Labels]:
        cores = apart <= eps
        found = by_size(backend(self.backend)["dbscan"](x, eps, self.min_samples, cores), x)
        centres = means(x, found)
        reach = np.full(len(centres), eps)
        fit = Fit(x[cores], found[cores], centres.astype(np.float32), reach)
        return fit, fit.label(x)[0]

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Different maps of a bootstrap sample, with eps such that the same share of them are core points."""
        apart = core_distances(x, self.min_samples)
        eps = float(np.quantile(apart, self.share, method="higher"))
        return self._fit(x, max(eps, 1e-12), apart)[1]

    @property
    def parameters(self) -> dict[str, Any]:
        """Distance and number of neighbours."""
        return {"eps": self.eps, "min_samples": self.min_samples}


@dataclass(frozen=True)
class HDBSCAN:
    """Clusters that persist over many densities, none smaller than `min_cluster_size`."""

    name: ClassVar[str] = "hdbscan"
    parameter: ClassVar[str] = "min_cluster_size"
    trial: ClassVar[int] = 3000
    min_cluster_size: int | Auto = "auto"
    min_samples: int | None = None
    backend: str = "sklearn"
    fitted: int = 0  # points, once settled

    def check(self, n: int) -> None:
        """Refuse what cannot be."""
        backend(self.backend)
        size = self.min_cluster_size
        if size != "auto" and not (isinstance(size, int) and size >= 2):
            raise OptionError(f"min_cluster_size {size}: give a whole number of at least 2, or auto")
        for name, value in (("min_cluster_size", size), ("min_samples", self.min_samples)):
            if isinstance(value, int) and not 1 <= value <= n:
                raise OptionError(f"{name} {value}: choose between 1 and the number of maps, {n}")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True
    ) -> tuple[HDBSCAN, Stability, list[tuple[float, float]]]:
        """One map in two hundred, and at least five."""
        size = max(5, round(len(x) / 200)) if self.min_cluster_size == "auto" else self.min_cluster_size
        size = min(size, len(x))
        way = replace(self, min_cluster_size=size, min_samples=self.min_samples or min(size, 10), fitted=len(x))
        found = auto.stability([way.regroup], small, seed=seed, bar=bar)[0]
        return way, found, [(float(size), found.mean)]

    def fit(self, x: Floats, seed: int) -> tuple[Fit, Labels]:
        """Clusters as the backend finds them; each reaches as far as its loosest member hangs on another."""
        crowd = int(self.min_samples or 1)
        labels = by_size(backend(self.backend)["hdbscan"](x, self.min_cluster_size, crowd), x)
        centres = means(x, labels)
        if not len(centres):
            raise DataError(
                f"min_cluster_size {self.min_cluster_size}: all maps are noise. Choose a smaller one, or another method"
            )
        order = np.argsort(labels < 0, kind="stable")
        reach = loosest(x, labels, core_distances(x, crowd))
        owner = labels[order][: np.count_nonzero(labels >= 0)]
        return Fit(x[order], owner, centres.astype(np.float32), reach, crowd=max(0, crowd - 1)), labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Different maps of a bootstrap sample, with sizes in proportion."""
        share = len(x) / self.fitted
        size = max(2, round(int(self.min_cluster_size) * share))
        samples = max(min(2, int(self.min_samples or 1)), round(int(self.min_samples or 1) * share))
        found: Labels = backend(self.backend)["hdbscan"](x, size, samples)
        return found

    @property
    def parameters(self) -> dict[str, Any]:
        """Smallest cluster and number of neighbours."""
        return {"min_cluster_size": self.min_cluster_size, "min_samples": self.min_samples}


def loosest(x: Floats, labels: Labels, apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each cluster the largest mutual reachability distance of a member to its nearest fellow.

    Mutual reachability of two points is the largest of their distance and the core distance (`apart`) of either.
    """
    reach = []
    for cluster in range(int(labels.max()) + 1):
        own = np.flatnonzero(labels == cluster)
        points, core = x[own].astype(np.float64), apart[own]
        lengths, worst = np.einsum("ij,ij->i", points, points), 0.0
        rows = max(1, ROOM // 2 // len(own))
        for start in range(0, len(own), rows):
            part = slice(start, start + rows)
            between = lengths[part, None] + lengths - 2 * (points[part] @ points.T)
            between = np.maximum(np.sqrt(between.clip(0)), core)
            between[np.arange(len(between)), np.arange(start, start + len(between))] = np.inf
            worst = max(worst, float(np.maximum(between.min(1), core[part]).max()))
        reach.append(worst)
    return np.array(reach)
