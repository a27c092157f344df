"""PCA: the first two principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headatlas.atlas.store import Atlas
from headatlas.stages.project.method import Method, Positions, Request
from headatlas.stages.project.reduction import Vectors


def pca(
    atlas: Atlas,
    *,
    of: str | None = None,
    name: str | None = None,
    sample: int = 20_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Draw maps by the first two principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://pca.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.project.pca(atlas).shape
    (2, 6, 12, 2)

    Parameters
    ----------
    atlas : Atlas
        An atlas with features.
    of, name : str, optional
        The features to project (the latest), and the name of the result ("pca").
    sample : int
        Maps that give the axes, equally many of each head; every map is placed by them.
    seed : int
        Random seed of the sample.
    workers, scheduler : int, str, optional
        Local processes or a Dask cluster that place blocks.

    Returns
    -------
    positions : array (example, layer, head, 2)
        NaN for a head that does not exist. The array `trust` says how far each point can be believed.
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Pca(), of, name, sample, seed, workers, scheduler))


@dataclass
class Pca(Method):
    """The first two components."""

    name: ClassVar[str] = "pca"
    help: ClassVar[str] = "the first two principal components: quick, and distances mean something everywhere"
    sample: ClassVar[int] = 20_000
    at_once: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        return self.place(vectors)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors: the same formula."""
        return np.pad(vectors[:, :2], ((0, 0), (0, max(0, 2 - vectors.shape[1]))))
