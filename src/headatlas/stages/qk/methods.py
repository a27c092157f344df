"""How vectors become points: t-SNE, UMAP or PCA, in two or three dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from headatlas.numeric.pca import fit_pca
from headatlas.stages.qk.transform import Vectors
from headatlas.stages.qk.tsne import FEWEST, tsne

Placed = tuple[Vectors, float]  # positions (point, axis), and KL, NaN where there is none

NEIGHBORS = 15  # of UMAP


def pca(vectors: Vectors, dims: int, seed: int) -> Placed:
    """The first principal components."""
    positions = fit_pca(vectors, components=dims).apply(vectors)
    return np.pad(positions, ((0, 0), (0, dims - positions.shape[1]))), float("nan")


def umap(vectors: Vectors, dims: int, seed: int) -> Placed:
    """UMAP of umap-learn, by the same distances as the other methods, so that trust means the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings of its dependencies
        from umap import UMAP

        start = "pca" if vectors.shape[1] >= dims else "random"
        neighbors = min(NEIGHBORS, len(vectors) - 1)
        model = UMAP(n_components=dims, n_neighbors=neighbors, random_state=seed, n_jobs=1, init=start)
        return np.asarray(model.fit_transform(vectors), np.float32), float("nan")


METHODS: dict[str, Callable[[Vectors, int, int], Placed]] = {"tsne": tsne, "umap": umap, "pca": pca}
DEFAULT = "tsne"


def place(vectors: Vectors, method: str, dims: int, seed: int) -> Placed:
    """Positions of vectors (point, feature); all in one place if the vectors are all equal."""
    if (vectors == vectors[0]).all():
        return np.zeros((len(vectors), dims), np.float32), float("nan")
    return METHODS[method if len(vectors) >= FEWEST else "pca"](vectors, dims, seed)


def result_name(method: str, dims: int) -> str:
    """What a result is called.

    >>> result_name("tsne", 2), result_name("umap", 3)
    ('tsne', 'umap-3d')
    """
    return method if dims == 2 else f"{method}-{dims}d"
