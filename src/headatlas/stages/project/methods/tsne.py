"""t-SNE: neighbors stay neighbors, and groups are separated."""

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

TREE = 10_000  # with fewer points t-SNE fits faster with a tree than with a grid


@dataclass
class Tsne(Method):
    """t-SNE of openTSNE, initialized with the first two components."""

    name: ClassVar[str] = "tsne"
    help: ClassVar[str] = "t-SNE of openTSNE: preserves neighbors and separates groups"
    sample: ClassVar[int] = 5_000

    perplexity: float = option(30, least=1, help="About how many neighbors of a point count.")
    seed: int = 0
    fitted: Any = None

    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""
        if self.perplexity > (len(vectors) - 1) / 3:
            raise OptionError(
                f"perplexity {self.perplexity:g}: choose between 1 and a third of the {len(vectors):,} maps fitted"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from openTSNE import TSNE

            options: dict[str, Any] = {
                "negative_gradient_method": "bh" if len(vectors) < TREE else "fft",
                "neighbors": "exact",
            }
            model = TSNE(perplexity=self.perplexity, random_state=self.seed, n_jobs=1, **options)
            self.fitted = model.fit(vectors)
        self.fitted.gradient_descent_params["negative_gradient_method"] = "fft"  # quicker for placing at any size
        self.fitted.prepare_interpolation_grid()  # shifts the points to the middle of its grid, so it comes first
        return np.asarray(self.fitted, np.float32)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors, by openTSNE's own transform; they do not repel one another."""
        return np.asarray(self.fitted.transform(vectors), np.float32)


@public(Tsne.options(), POSITIONS)
def tsne(
    atlas: AtlasLike,
    *,
    perplexity: float = 30,
    **shared: Unpack[Shared],
) -> Positions:
    """Draw maps by t-SNE of the first 50 principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://tsne.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.project.tsne(atlas, perplexity=10).shape
    (2, 6, 12, 2)
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Tsne(perplexity, shared["seed"]), **shared))
