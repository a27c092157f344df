"""The clusters of a finished clustering, and which of them any map belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.schema import MISSING, NOISE
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.numeric.pca import PrincipalAxes
from headatlas.stages.cluster.assign import FIT
from headatlas.stages.cluster.fit import Fit, Labels, of_centers
from headatlas.stages.cluster.fit_file import from_bytes
from headatlas.stages.cluster.radius import Part, radii


@dataclass(frozen=True)
class Assigned:
    """The cluster of each map (example, layer, head), in three ways.

    `labels` are given by the rule of the clustering. `patterns` are given by distance: the cluster of the nearest
    center, for a tree that of the nearest leaf, but none, which is noise, if the map is farther from the center than
    the radius of the cluster. `leaves` are the leaves of a tree, noise where the pattern is.
    """

    labels: Labels
    patterns: Labels
    leaves: Labels | None = None


@dataclass(frozen=True)
class Clusters:
    """A clustering as it was fitted: its axes, its rule, and the radius of each cluster."""

    space: PrincipalAxes
    fit: Fit
    radius: NDArray[np.float32]

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.fit.centers)

    def assign(self, vectors: NDArray[Any]) -> Assigned:
        """Clusters of vectors (example, layer, head, feature), by the rule of the clustering and by distance."""
        present = ~np.isnan(vectors).any(-1)
        x = self.space.apply(vectors[present])
        labelings = self.fit.labelings(x)
        leaves = labelings.get("leaves")
        if leaves is None:
            nearest, distance = of_centers(self.fit.centers).label(x)
        else:  # of a tree: so that the leaves of a node together have the maps of the node
            nearest = labelings["labels"]
            distance = self.fit.distance(x, nearest)
        inside = distance <= self.radius[nearest]

        def place(values: Labels) -> Labels:
            everywhere = np.full(present.shape, MISSING, np.int32)
            everywhere[present] = values
            return everywhere

        def within(values: Labels) -> Labels:
            return place(np.where(inside, values, np.int32(NOISE)))

        return Assigned(place(labelings["labels"]), within(nearest), None if leaves is None else within(leaves))


def read_clusters(atlas: Atlas, of: str) -> Clusters:
    """The clusters of a clustering of maps."""
    if atlas.facts("cluster", of).get("level", "maps") != "maps":
        raise OptionError(f"{of} is a clustering of heads, and one of maps is needed. Choose another with --of")
    content = atlas.file("cluster", FIT, of)
    if content is None:
        raise StoreError(f"{atlas.files.url} has no {FIT} of {of}. Run its `headatlas cluster` command again")
    space, fit, _ = from_bytes(content)
    if not len(fit.centers):
        raise DataError(f"{of} has no clusters, all maps are noise: nothing to compare with. Choose another with --of")

    def read() -> Iterator[Part]:
        for rows, labels in read_blocks(atlas, "labels", of):
            yield labels, atlas.read("distance", slice(rows.start, rows.stop), of)

    return Clusters(space, fit, radii(read, len(fit.centers)))
