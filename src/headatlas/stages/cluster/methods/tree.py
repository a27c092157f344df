"""A tree of patterns: mini-clusters merged step by step, cut where every part is still found on other examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.numeric.hierarchy import cut_at
from headatlas.options import Auto, option, public
from headatlas.stages.cluster.auto import agreement
from headatlas.stages.cluster.fit import Fit, Labels, means, of_centers
from headatlas.stages.cluster.forest import (
    ClusterTree,
    NodeStability,
    bootstrap,
    grow,
    leaf_count,
    node_stability,
)
from headatlas.stages.cluster.method import LABELS, Backends, Method, Request, Shared, Units
from headatlas.stages.cluster.vectors import Floats

if TYPE_CHECKING:
    import pyarrow as pa

LEAST = 30  # maps in a cluster, of samples that have …
LEAST_OF = 600  # … this many; of smaller ones in proportion, but at least …
PAIR = 2  # … this many
STABLEST = (
    "the cut with the largest sum, over its nodes, of how far their stability exceeds `stability`; each node holds at "
    f"least the share `smallest` of the fitted maps, and {LEAST} maps (of fewer than {LEAST_OF}: one in "
    f"{LEAST_OF // LEAST})"
)


@dataclass(frozen=True)
class TreeFit(Fit):
    """A map takes the leaf of the nearest mini-cluster, and the cluster that the leaf belongs to."""

    points: Floats  # center of each leaf
    owner: Labels  # cluster of each leaf

    def assign(self, x: Floats) -> Labels:
        """Cluster of each map."""
        return self.labelings(x)["labels"]

    def labelings(self, x: Floats) -> dict[str, Labels]:
        """Cluster and leaf of each map."""
        leaves = of_centers(self.points).assign(x)
        return {"labels": self.owner[leaves], "leaves": leaves}


@dataclass(frozen=True)
class Grown:
    """A tree of all fitted maps, and what is known of its nodes."""

    tree: ClusterTree
    stable: NodeStability


@dataclass(frozen=True)
class Tree(Method):
    """Nodes of a tree of mini-clusters."""

    name: ClassVar[str] = "tree"
    help: ClassVar[str] = "maps of one node of a tree that is made by merging mini-clusters"
    parameter: ClassVar[str] = "k"
    sample: ClassVar[int] = 50_000
    backends: ClassVar[Backends] = {"sklearn": grow}
    fit_type: ClassVar[type[Fit]] = TreeFit
    more_arrays: ClassVar[tuple[str, ...]] = ("leaves",)
    single: ClassVar[str] = "no finer cut of the tree is stable. Choose a lower stability, or give k"

    k: int | Auto = option("auto", least=2, help="Number of clusters, or auto.", auto=STABLEST)
    stability: float = option(
        0.6, least=0, help="Mean Jaccard index under bootstrap above which a cluster counts as stable, if k is auto."
    )
    smallest: float = option(0.01, least=0, help="Share of the maps that every cluster must hold, if k is auto.")
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
        """The tree of all points, and its most stable cut."""
        leaves = leaf_count(len(x))
        tree = self.backends[self.backend](x, np.ones(len(x), np.int64), leaves, seed)
        forest = bootstrap(small, units, leaves, seed, bar)
        leaf = of_centers(tree.centers).assign(small)
        of_nodes, low, high = node_stability(forest.matches(tree.nodes, leaf))
        cut = tree.by_size(self._cut(tree, of_nodes))
        groups = forest.groups(len(cut))
        stable = NodeStability(groups, agreement(groups), of_nodes, low, high, tuple(cut))
        settled = replace(self, k=len(cut), grown=Grown(tree, stable))
        return settled, stable, [(float(len(cut)), stable.mean)]

    def _cut(self, tree: ClusterTree, stability: NDArray[np.float64]) -> list[int]:
        """The nodes that are clusters."""
        if self.k != "auto":
            cut = cut_at(tree.nodes.parent, self.k)
            if len(cut) < self.k:
                progress.say(f"only {len(cut)} of {self.k} clusters have maps: many maps are the same")
            return cut
        count = len(tree.leaf)
        least = max(self.smallest * count, min(LEAST, count * LEAST / LEAST_OF), PAIR)
        gain = stability - self.stability
        gain[0] = 0  # all maps together are always found again, which says nothing
        return tree.nodes.best_cut(gain, tree.maps >= least)

    def fit(self, x: Floats, seed: int) -> tuple[TreeFit, Labels]:
        """The tree that was settled on, or the one of these points."""
        settled = self if self.grown else self.settle(x, x, seed, bar=False)[0]
        assert settled.grown is not None
        tree, cut = settled.grown.tree, settled.grown.stable.cut
        owner = tree.labels(list(cut))
        labels: Labels = owner[tree.leaf]
        return TreeFit(means(x, labels).astype(np.float32), tree.centers, owner), labels

    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """A tree of a bootstrap sample, cut in as many clusters."""
        tree = self.backends[self.backend](x, weights, leaf_count(len(x)), seed)
        labels: Labels = tree.labels(cut_at(tree.nodes.parent, int(self.k)))[tree.leaf]
        return labels

    def more_tables(self, atlas: Atlas, of: str) -> dict[str, pa.Table]:
        """The table of nodes."""
        from headatlas.stages.cluster.nodes import nodes_table

        assert self.grown is not None
        return {"nodes": nodes_table(self.grown.tree, self.grown.stable, atlas, of)}

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Each number of clusters that the tree has leaves for."""
        return [cls(k) for k in ks if k <= leaf_count(len(x))]

    @property
    def least_maps(self) -> int:
        """One map per cluster."""
        return 1 if self.k == "auto" else self.k


@public(Tree.options(), LABELS)
def tree(
    atlas: Atlas,
    *,
    k: int | Auto = "auto",
    stability: float = 0.6,
    smallest: float = 0.01,
    backend: str = "sklearn",
    **shared: Unpack[Shared],
) -> Labels:
    """Cluster maps by the nodes of a tree, cut where all parts are stable; `labels_at` gives any other cut.

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
