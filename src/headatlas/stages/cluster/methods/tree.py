"""A tree of patterns: the clusters that are found again best on other examples, their parts, and what unites them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import progress, wording
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.numeric.hierarchy import Reals
from headatlas.options import Auto, option, public
from headatlas.stages.cluster import typical
from headatlas.stages.cluster.auto import agreement
from headatlas.stages.cluster.fit import Fit, Labels, by_size, of_centers, old_numbers
from headatlas.stages.cluster.forest import (
    ClusterTree,
    Grown,
    NodeStability,
    grow,
    match,
    nearest_within,
    node_stability,
    regrow,
)
from headatlas.stages.cluster.method import LABELS, Backends, Method, Request, Shared, Units
from headatlas.stages.cluster.minis import MiniClusters, draws, leaf_count, mini_clusters
from headatlas.stages.cluster.vectors import Floats

if TYPE_CHECKING:
    import pyarrow as pa

LEAST = 30  # maps in a cluster, of samples that have …
LEAST_OF = 600  # … this many; of smaller ones in proportion, but at least …
PAIR = 2  # … this many
MATCHED = 6000  # maps at most on which trees are compared
STABLEST = (
    f"{typical.USUAL}, unless another number from 2 to {typical.MOST} gives clearly more stable clusters; "
    "1 if the mean stability is below `stability`"
)


@dataclass(frozen=True)
class TreeFit(Fit):
    """A map takes the cluster of the nearest center, and the nearest of the leaves of that cluster."""

    points: Floats  # center of each leaf
    owner: Labels  # cluster of each leaf

    def assign(self, x: Floats) -> Labels:
        """Cluster of each map."""
        return of_centers(self.centers).assign(x)

    def labelings(self, x: Floats) -> dict[str, Labels]:
        """Cluster and leaf of each map."""
        leaves = nearest_within(x, self.centers, self.points, self.owner)
        return {"labels": self.owner[leaves], "leaves": leaves}


@dataclass(frozen=True)
class Tree(Method):
    """Clusters that are found again best, in a tree."""

    name: ClassVar[str] = "tree"
    help: ClassVar[str] = "maps nearest to the same of k centers, which are nodes of a tree of finer and coarser ones"
    parameter: ClassVar[str] = "k"
    sample: ClassVar[int] = 50_000
    trial: ClassVar[int] = 50_000
    backends: ClassVar[Backends] = {"sklearn": mini_clusters}
    fit_type: ClassVar[type[Fit]] = TreeFit
    more_arrays: ClassVar[tuple[str, ...]] = ("leaves",)
    single: ClassVar[str] = "no finer clusters are stable. Choose a lower stability, or give k"

    k: int | Auto = option("auto", least=2, help="Number of clusters, or auto.", auto=STABLEST)
    stability: float = option(
        0.5, least=0, help="Mean Jaccard index under bootstrap that clusters must reach on average, if k is auto."
    )
    smallest: float = option(
        0.003, least=0, help="Share of the maps below which a cluster counts as not stable at all, if k is auto."
    )
    grown: Grown | None = field(default=None, compare=False, repr=False)  # once settled

    def check_count(self, count: int) -> None:
        """Refuse more clusters than the tree has leaves, and shares above 1."""
        for name in ("stability", "smallest"):
            if getattr(self, name) > 1:
                raise OptionError(f"{name} {getattr(self, name):g}: give a number from 0 to 1")
        leaves = leaf_count(count)
        if self.k != "auto" and self.k > leaves:
            maps = wording.many(count, "map")
            raise OptionError(f"k {self.k}: the tree of {maps} has only {leaves} leaves. Choose a smaller k, or auto")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True, units: Units | None = None
    ) -> tuple[Self, NodeStability, list[tuple[float, float]]]:
        """The clusters that are found again best on bootstrap samples of the small part, and the tree around them."""
        minis = self.backends[self.backend](small, np.ones(len(small), np.int64), seed)
        whole = minis.weighted(small, np.ones(len(small)))
        samples = [minis.weighted(small, weights) for weights in draws(len(small), units, seed)]
        levels = typical.levels(whole, samples, self._numbers(minis, len(small)), bar)
        tried = {k: self._stability(level, len(small)) for k, level in levels.items()}
        k = self._choose(tried)
        level = levels[k] if k > 1 else typical.levels(whole, samples, [1], bar=False)[1]
        grown = grow(x, minis, _refined(x, level.centers))
        stable = _compare(grown, [regrow(*pair) for pair in zip(samples, level.solutions, strict=True)], small)
        settled = replace(self, k=len(stable.cut), grown=replace(grown, stable=stable))
        return settled, stable, [(float(k), value) for k, value in tried.items()]

    def _numbers(self, minis: MiniClusters, count: int) -> list[int]:
        """Numbers of clusters to try. Almost as many as mini-clusters would always be found again."""
        centers, distinct = len(minis.centers), len(minis.centers) == leaf_count(count)
        if self.k == "auto":
            return list(range(2, min(typical.MOST, centers // 2 if distinct else centers) + 1))
        if centers < self.k:
            progress.say(f"only {centers} of {self.k} clusters have maps: many maps are the same")
        return [min(self.k, centers)]

    def _stability(self, level: typical.Level, count: int) -> float:
        """Mean stability of the clusters; 0 for those that are too small."""
        least = max(self.smallest * count, min(LEAST, count * LEAST / LEAST_OF), PAIR)
        return float(np.where(level.sizes >= least, level.stability, 0).mean())

    def _choose(self, tried: dict[int, float]) -> int:
        if self.k != "auto":
            return next(iter(tried))
        k = typical.choose(tried) if tried else 1
        return k if k > 1 and tried[k] >= self.stability else 1

    def fit(self, x: Floats, seed: int) -> tuple[TreeFit, Labels]:
        """The tree that was settled on, or the one of these points."""
        settled = self if self.grown else self.settle(x, x, seed, bar=False)[0]
        assert settled.grown is not None
        tree = settled.grown.tree
        fit = TreeFit(tree.centers, tree.points, tree.owner)
        return fit, fit.assign(x)

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Clusters of a bootstrap sample, as many."""
        minis = self.backends[self.backend](x, weights, seed)
        (centers,) = typical.solve(minis.weighted(x, weights), [int(self.k)])
        return of_centers(centers).assign(x)

    def more_tables(self, atlas: Atlas, of: str) -> dict[str, pa.Table]:
        """The table of nodes."""
        from headatlas.stages.cluster.nodes import nodes_table

        assert self.grown is not None
        return {"nodes": nodes_table(self.grown, atlas, of)}

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Each number of clusters that the tree has leaves for."""
        return [cls(k) for k in ks if k <= leaf_count(len(x))]

    @property
    def least_maps(self) -> int:
        """One map per cluster."""
        return 1 if self.k == "auto" else self.k


def _refined(x: Floats, centers: Reals) -> Floats:
    """Lloyd's algorithm over all fitted maps; clusters numbered by size."""
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers.astype(x.dtype), n_init=1, tol=0, algorithm="lloyd").fit(x)
    old = of_centers(model.cluster_centers_).assign(x)
    refined: Floats = model.cluster_centers_[old_numbers(old, by_size(old, x))].astype(np.float32)
    return refined


def _compare(grown: Grown, others: list[ClusterTree], x: Floats) -> NodeStability:
    """Stability of each node, on a part of the maps."""
    part = x[np.linspace(0, len(x) - 1, min(len(x), MATCHED)).astype(np.int64)]
    groups = tuple(of_centers(other.centers).assign(part) for other in others)
    return NodeStability(
        groups, agreement(groups), *node_stability(match(grown.tree, others, part)), tuple(grown.tree.cut)
    )


@public(Tree.options(), LABELS)
def tree(
    atlas: AtlasLike,
    *,
    k: int | Auto = "auto",
    stability: float = 0.5,
    smallest: float = 0.003,
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by what is found again best on other examples, in a tree; `labels_at` gives any other cut.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://tree.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> labels = ha.cluster.tree(atlas, k=4)
    >>> nodes, leaves = atlas.table("nodes"), atlas.read("leaves")
    >>> bool((ha.cluster.labels_at(nodes, leaves, 4) == labels).all())
    True
    """
    from headatlas.stages.cluster.stage import cluster

    method = Tree(k, stability, smallest, backend=backend)
    return cluster(atlas, Request(method, **shared))
