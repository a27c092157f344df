"""UMAP: neighbors stay neighbors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from headatlas.atlas.store import AtlasLike
from headatlas.errors import OptionError
from headatlas.options import option, public
from headatlas.stages.project.method import POSITIONS, Method, Positions, Request, Shared
from headatlas.stages.project.reduction import Vectors


@dataclass
class Umap(Method):
    """UMAP of umap-learn, initialized with the first two components."""

    name: ClassVar[str] = "umap"
    help: ClassVar[str] = "UMAP of umap-learn: preserves neighbors"
    sample: ClassVar[int] = 5_000

    neighbors: int = option(15, least=2, help="Neighbors of a point that count.")
    seed: int = 0
    fitted: Any = None

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        if self.neighbors >= len(vectors):
            raise OptionError(
                f"neighbors {self.neighbors}: choose at least 2, and fewer than the {len(vectors):,} maps fitted"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecation warnings of its dependencies
            from umap import UMAP

            start = "pca" if vectors.shape[1] >= 2 else "random"
            options = {"random_state": self.seed, "transform_seed": self.seed, "n_jobs": 1, "init": start}
            self.fitted = UMAP(n_neighbors=self.neighbors, **options)
            return np.asarray(self.fitted.fit_transform(vectors), np.float32)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors, by UMAP's own transform."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.fitted.transform(vectors), np.float32)


@public(Umap.options(), POSITIONS)
def umap(
    atlas: AtlasLike,
    *,
    neighbors: int = 15,
    **shared: Unpack[Shared],
) -> Positions:
    """Draw maps by UMAP of the first 50 principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://umap.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.project.umap(atlas, neighbors=10).shape
    (2, 6, 12, 2)
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Umap(neighbors, shared["seed"]), **shared))
