"""Ways to draw vectors in the plane: fitted on a sample, they place any further vector."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError, OptionError
from headatlas.numeric.pca import PrincipalAxes, fit_pca

Vectors = NDArray[np.float32]

DIMENSIONS = 50
TREE = 10_000  # below so many points t-SNE fits faster with a tree than with a grid


def fit_space(sample: NDArray[Any]) -> PrincipalAxes:
    """The first 50 principal axes of a sample: points are laid out by their coordinates on them."""
    if (sample == sample[0]).all():
        raise DataError("all maps have the same features: nothing to lay out. Choose other features with --of")
    return fit_pca(sample, components=DIMENSIONS)


class Method(Protocol):
    """A method before and after it was fitted."""

    at_once: bool  # whether several threads may place points at the same time

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        ...

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors."""
        ...


@dataclass
class Pca:
    """The first two components."""

    at_once: bool = True

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        return self.place(vectors)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors: the same formula."""
        return np.pad(vectors[:, :2], ((0, 0), (0, max(0, 2 - vectors.shape[1]))))


@dataclass
class Umap:
    """UMAP of umap-learn, begun at the first two components."""

    neighbours: int
    seed: int
    at_once: bool = False  # its compiled loops must not be entered twice
    fitted: Any = None

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        if not 2 <= self.neighbours < len(vectors):
            raise OptionError(
                f"--neighbours {self.neighbours}: choose at least 2, and fewer than the {len(vectors):,} maps fitted"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries under it, about their own future
            from umap import UMAP

            start = "pca" if vectors.shape[1] >= 2 else "random"
            options = {"random_state": self.seed, "transform_seed": self.seed, "n_jobs": 1, "init": start}
            self.fitted = UMAP(n_neighbors=self.neighbours, **options)
            return np.asarray(self.fitted.fit_transform(vectors), np.float32)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors, by UMAP's own transform."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.fitted.transform(vectors), np.float32)


@dataclass
class Tsne:
    """t-SNE of openTSNE, begun at the first two components."""

    perplexity: float
    seed: int
    at_once: bool = False
    fitted: Any = None

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        if not 1 <= self.perplexity <= (len(vectors) - 1) / 3:
            raise OptionError(
                f"--perplexity {self.perplexity:g}: choose between 1 and a third of the {len(vectors):,} maps fitted"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from openTSNE import TSNE

            options: dict[str, Any] = {
                "negative_gradient_method": "bh" if len(vectors) < TREE else "fft",
                "neighbors": "exact",
            }
            tsne = TSNE(perplexity=self.perplexity, random_state=self.seed, n_jobs=1, **options)
            self.fitted = tsne.fit(vectors)
        self.fitted.gradient_descent_params["negative_gradient_method"] = "fft"  # quicker for placing at any size
        self.fitted.prepare_interpolation_grid()  # moves the points to its middle: later it would leave ours behind
        return np.asarray(self.fitted, np.float32)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors, by openTSNE's own transform; they do not push one another."""
        return np.asarray(self.fitted.transform(vectors), np.float32)


def enough(count: int) -> None:
    """Say so if there are too few maps to draw."""
    if count < 4:
        raise DataError(f"a projection needs at least 4 maps, and there are {count}. Collect more examples")
