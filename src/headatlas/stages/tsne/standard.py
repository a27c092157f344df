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
FEWEST = 5  # points below which perplexity is meaningless
TREE = 5000  # points up to which repulsion is summed in a tree rather than on a grid

Optimizer = Literal["opentsne", "kernel"]
Seed = int | tuple[int, ...]


@dataclass(frozen=True)
class Standard:
    """The layout (point, 2) with the least KL, the KL of each restart, and notes."""

    layout: NDArray[np.float32]
    kl: NDArray[np.float64]
    perplexity: float
    notes: tuple[str, ...] = ()


def standard(
    vectors: NDArray[Any],
    *,
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: Seed = 0,
    optimizer: Optimizer = "opentsne",
) -> Standard:
    """t-SNE of vectors (point, feature). KL is exact and in float64, whichever optimizer made the layout.

    openTSNE begins a single layout at the first two principal components, several at random; the
    kernel always begins at random.
    """
    check_options(perplexity, restarts, optimizer)
    flat = np.asarray(vectors, np.float64)
    if not np.isfinite(flat).all():
        raise DataError("hidden states that are not numbers: the model overflowed on this text")
    if len(flat) < FEWEST:
        note = f"{len(flat)} points are too few for t-SNE of vectors: their principal components are shown, without KL"
        return Standard(_components(flat), np.full(restarts, np.nan), np.nan, (note,))
    used = min(perplexity, (len(flat) - 1) / 3)
    notes = (f"perplexity {used:.3g} in place of {perplexity:g}: there are {len(flat)} points",) * (used < perplexity)
    affinities = probabilities(flat, used)
    dense = affinities.P.toarray()
    if optimizer == "kernel":
        positions, kl = kernel.layouts(dense, restarts=restarts, seed=seed)
    else:
        positions = np.stack([_open_tsne(flat, affinities, seed, run, restarts > 1) for run in range(restarts)])
        kl = kernel.divergence(dense, positions)
    return Standard(positions[int(kl.argmin())], kl, used, notes)


def check_options(perplexity: float, restarts: int, optimizer: str) -> None:
    """Raise OptionError for invalid values."""
    if optimizer not in ("opentsne", "kernel"):
        raise OptionError(f"optimizer {optimizer!r}: choose opentsne or kernel")
    if perplexity < 1 or restarts < 1:
        raise OptionError(f"perplexity {perplexity:g}, restarts {restarts}: both are at least 1")


def probabilities(vectors: NDArray[np.float64], perplexity: float) -> Any:
    """openTSNE's affinities of vectors, by exact neighbors; `.P` is sparse, symmetric, and sums to 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE.affinity import PerplexityBasedNN

        return PerplexityBasedNN(vectors, perplexity=perplexity, method="exact", n_jobs=1)


def _open_tsne(
    vectors: NDArray[np.float64], affinities: Any, seed: Seed, run: int, random: bool
) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE import TSNE

        entropy = [*(seed if isinstance(seed, tuple) else (seed,)), run]
        state = int(np.random.SeedSequence(entropy).generate_state(1)[0]) % 2**31
        options: dict[str, Any] = {"negative_gradient_method": "bh" if len(vectors) < TREE else "fft"}
        start = "random" if random else "pca"
        optimizer = TSNE(initialization=start, random_state=state, n_jobs=1, **options)
        return np.asarray(optimizer.fit(vectors, affinities=affinities), np.float32)


def _components(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """The first two principal components, as far as there are two."""
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), np.float32)
    plane = fit_pca(vectors, components=2).apply(vectors)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
