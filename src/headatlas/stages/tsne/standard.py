"""Standard t-SNE of vectors: probabilities from distances, by perplexity; laid out by openTSNE or our kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError, OptionError
from headatlas.numeric.pca import fit_pca
from headatlas.stages.tsne import kernel

PERPLEXITY = 20.0
FEWEST = 5  # points below which perplexity means nothing
TREE = 5000  # points up to which repulsion is summed in a tree rather than on a grid

Optimiser = Literal["opentsne", "kernel"]


@dataclass(frozen=True)
class Standard:
    """The layout (point, 2) with the least KL, the KL of each restart, and remarks."""

    layout: NDArray[np.float32]
    kl: NDArray[np.float64]
    perplexity: float
    notes: tuple[str, ...] = ()


def standard(
    vectors: NDArray[Any],
    *,
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: int | tuple[int, ...] = 0,
    optimiser: Optimiser = "opentsne",
) -> Standard:
    """t-SNE of vectors (point, feature). KL is exact and in float64, whichever optimiser made the layout.

    openTSNE begins a single layout at the first two principal components, several at random; the
    kernel always begins at random.
    """
    if optimiser not in ("opentsne", "kernel"):
        raise OptionError(f"optimiser {optimiser!r}: choose opentsne or kernel")
    if perplexity < 1 or restarts < 1:
        raise OptionError(f"perplexity {perplexity:g}, restarts {restarts}: both are at least 1")
    flat = np.asarray(vectors, np.float64)
    if not np.isfinite(flat).all():
        raise DataError("hidden states that are not numbers: the model overflowed on this text")
    if len(flat) < FEWEST:
        note = f"{len(flat)} points are too few for t-SNE of vectors: their principal components are shown, without KL"
        return Standard(_components(flat), np.full(restarts, np.nan), np.nan, (note,))
    used = min(perplexity, (len(flat) - 1) / 3)
    notes = (f"perplexity {used:.3g} in place of {perplexity:g}: there are {len(flat)} points",) * (used < perplexity)
    found = probabilities(flat, used)
    dense = found.P.toarray()
    if optimiser == "kernel":
        places, kl = kernel.layouts(dense, restarts=restarts, seed=seed)
    else:
        places = np.stack([_open_tsne(flat, found, seed, run, restarts > 1) for run in range(restarts)])
        kl = kernel.divergence(dense, places)
    return Standard(places[int(kl.argmin())], kl, used, notes)


def probabilities(vectors: NDArray[np.float64], perplexity: float) -> Any:
    """openTSNE's affinities of vectors, by exact neighbours; `.P` is sparse, symmetric, and sums to 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE.affinity import PerplexityBasedNN

        return PerplexityBasedNN(vectors, perplexity=perplexity, method="exact", n_jobs=1)


def _open_tsne(
    vectors: NDArray[np.float64], found: Any, seed: int | tuple[int, ...], run: int, random: bool
) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE import TSNE

        number = int(
            np.random.SeedSequence([*(seed if isinstance(seed, tuple) else (seed,)), run]).generate_state(1)[0]
        )
        options: dict[str, Any] = {"negative_gradient_method": "bh" if len(vectors) < TREE else "fft"}
        start = "random" if random else "pca"
        made = TSNE(initialization=start, random_state=number % 2**31, n_jobs=1, **options)
        return np.asarray(made.fit(vectors, affinities=found), np.float32)


def _components(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """The first two principal components, as far as there are two."""
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), np.float32)
    plane = fit_pca(vectors, components=2).apply(vectors)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
