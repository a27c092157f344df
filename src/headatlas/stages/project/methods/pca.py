"""PCA: the first two principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np

from headatlas.atlas.store import AtlasLike
from headatlas.options import public
from headatlas.stages.project.method import POSITIONS, Method, Positions, Request, Shared
from headatlas.stages.project.reduction import Vectors


@dataclass
class Pca(Method):
    """The first two components."""

    name: ClassVar[str] = "pca"
    help: ClassVar[str] = "the first two principal components: fast, and distances are meaningful throughout"
    sample: ClassVar[int] = 20_000
    at_once: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        return self.place(vectors)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors: the same formula."""
        return np.pad(vectors[:, :2], ((0, 0), (0, max(0, 2 - vectors.shape[1]))))


@public(Pca.options(), POSITIONS)
def pca(
    atlas: AtlasLike,
    **shared: Unpack[Shared],
) -> Positions:
    """Draw maps by the first two principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://pca.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.project.pca(atlas).shape
    (2, 6, 12, 2)
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Pca(), **shared))
