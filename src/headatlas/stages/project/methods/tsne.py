"""t-SNE: neighbors stay neighbors, and groups come apart."""

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

TREE = 10_000  # below so many points t-SNE fits faster with a tree than with a grid


def tsne(
    atlas: Atlas,
    *,
    perplexity: float = 30,
    of: str | None = None,
    name: str | None = None,
    sample: int = 5_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Draw maps by t-SNE of the first 50 principal components of their features.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://tsne.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.project.tsne(atlas, perplexity=10).shape
    (2, 6, 12, 2)

    Parameters
    ----------
    atlas : Atlas
        An atlas with features.
    perplexity : float
        About how many neighbors of a point count.
    of, name : str, optional
        The features to project (the latest), and the name of the result ("tsne").
    sample : int
        Maps that are fitted, equally many of each head; the rest is placed by openTSNE's own transform.
    seed : int
        Random seed of the sample and of t-SNE.
    workers, scheduler : int, str, optional
        Local processes or a Dask cluster that place blocks.

    Returns
    -------
    positions : array (example, layer, head, 2)
        NaN for a head that does not exist. The array `trust` says how far each point can be believed.
    """
    from headatlas.stages.project import project

    return project(atlas, Request(Tsne(perplexity, seed), of, name, sample, seed, workers, scheduler))


@dataclass
class Tsne(Method):
    """t-SNE of openTSNE, begun at the first two components."""

    name: ClassVar[str] = "tsne"
    help: ClassVar[str] = "t-SNE of openTSNE: who is near whom, with groups apart"
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
        self.fitted.prepare_interpolation_grid()  # moves the points to its middle: later it would leave ours behind
        return np.asarray(self.fitted, np.float32)

    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors, by openTSNE's own transform; they do not push one another."""
        return np.asarray(self.fitted.transform(vectors), np.float32)
