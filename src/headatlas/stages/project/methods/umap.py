"""UMAP: neighbors stay neighbors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.options import option
from headatlas.stages.project.method import Method, Positions, Request
from headatlas.stages.project.reduction import Vectors


def umap(
    atlas: Atlas,
    *,
    neighbors: int = 15,
    of: str | None = None,
    name: str | None = None,
    sample: int = 5_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Draw maps by UMAP of the first 50 principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.open("sample.atlas")  # doctest: +SKIP
    >>> ha.project.umap(atlas, neighbors=30).shape  # doctest: +SKIP
    (140, 6, 12, 2)

    Parameters
    ----------
    atlas : Atlas
        An atlas with features.
    neighbors : int
        Neighbors of a point that count.
    of, name : str, optional
        The features to project (the latest), and the name of the result ("umap").
    sample : int
        Maps that are fitted, equally many of each head; the rest is placed by UMAP's own transform.
    seed : int
        Random seed of the sample and of UMAP.
    workers, scheduler : int, str, optional
        Local processes or a Dask cluster that place blocks.

    Returns
    -------
    positions : array (example, layer, head, 2)
        NaN for a head that does not exist. The array `trust` says how far each point can be believed.
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Umap(neighbors, seed), of, name, sample, seed, workers, scheduler))


@dataclass
class Umap(Method):
    """UMAP of umap-learn, begun at the first two components."""

    name: ClassVar[str] = "umap"
    help: ClassVar[str] = "UMAP of umap-learn: who is near whom"
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
            warnings.simplefilter("ignore")  # of libraries under it, about their own future
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
