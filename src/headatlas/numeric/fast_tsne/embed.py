"""From vectors to positions: neighbors, principal components as a start, three phases of descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.fast_tsne.affinities import joint_probabilities
from headatlas.numeric.fast_tsne.descent import Descent, settle
from headatlas.numeric.fast_tsne.divergence import divergence
from headatlas.numeric.fast_tsne.mesh import Mesh
from headatlas.numeric.fast_tsne.pairs import AllPairs
from headatlas.numeric.fast_tsne.perplexity import PERPLEXITY, perplexity_for
from headatlas.numeric.pca import fit_pca

FEWEST = 4  # points; fewer have no neighborhoods
START, JITTER = 1e-4, 0.01  # deviation of the first positions along the first axis; share of it that is random
# openTSNE makes 250 iterations with an exaggeration of 12, and 500 without, all with a momentum of 0.8 and a learning
# rate of n / exaggeration. Here the exaggeration falls step by step in between, which keeps more neighbors together;
# then there is more momentum. Chosen on five heads of MiniLM and SmolLM2, measured on others (docs/qk.md).
EARLY: dict[str, Any] = {"iterations": 250, "rate": 1 / 12, "momentum": 0.8, "exaggeration": 12.0}
FALLING, STEP, MOMENTUM = 200, 10, 0.8  # iterations while the exaggeration falls to 1, and those with the same one
LATE: dict[str, Any] = {"rate": 0.7, "momentum": 0.95}
ITERATIONS = 250  # of the last phase


def embed(
    vectors: NDArray[np.floating[Any]],
    dims: int = 2,
    perplexity: float = PERPLEXITY,
    seed: int = 0,
    iterations: int = ITERATIONS,
) -> tuple[NDArray[np.float32], float]:
    """Positions (point, axis) of vectors (point, feature) by t-SNE with Euclidean distances, and the KL divergence.

    >>> points = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    >>> positions, kl = embed(points)
    >>> positions.shape, bool(kl > 0)
    ((200, 2), True)

    Parameters
    ----------
    vectors : array (point, feature)
        One vector per point, all of them finite.
    dims : {2, 3}
        Number of axes.
    perplexity : float
        Effective number of neighbors; a third of the other points if there are fewer than three times as many.
    seed : int
        Random seed: the same seed gives the same bits on one kind of processor.
    iterations : int
        Iterations after those with exaggeration.

    Returns
    -------
    positions : array (point, axis)
        With mean 0. Fewer than four points lie along their principal axes.
    kl : float
        KL(P‖Q) over the stored neighbors, with Q normalized by the sum over all pairs; 0 with fewer than four points.
    """
    if dims not in (2, 3):
        raise ValueError(f"t-SNE has 2 or 3 dimensions here, not {dims}")
    points = np.ascontiguousarray(vectors, np.float32)
    if not np.isfinite(points).all():
        raise ValueError("t-SNE needs finite vectors: leave out rows with NaN or infinity")
    start = _start(points, dims, np.random.default_rng(seed))
    if len(points) < FEWEST:
        return start, 0.0
    p = joint_probabilities(points, perplexity_for(len(points), perplexity))
    descent = Descent(p, np.ascontiguousarray(start.T), Mesh() if dims == 2 else AllPairs())
    descent.advance(**EARLY)
    for share in np.arange(FALLING - STEP, -1, -STEP) / FALLING:
        exaggeration = float(EARLY["exaggeration"] ** share)
        descent.advance(STEP, 1 / exaggeration, MOMENTUM, exaggeration)
    kl = settle(descent, lambda: divergence(p, descent.place.T), iterations=iterations, **LATE)
    return np.ascontiguousarray(descent.place.T), kl


def _start(points: NDArray[np.float32], dims: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Principal components, disturbed so that no two points coincide; of a few points with deviation 1, as they are."""
    start = np.zeros((len(points), dims))
    if len(points) > 1:
        components = fit_pca(points, components=dims).apply(points)
        start[:, : components.shape[1]] = components
    deviation = start[:, 0].std() if len(points) else 0.0
    equal = deviation <= 1e-6 * np.abs(points).max(initial=0.0)  # but for rounding
    if len(points) < FEWEST:
        return (start * (0 if equal else 1 / deviation)).astype(np.float32)
    noise = rng.normal(0, START, start.shape)
    return (noise if equal else start * (START / deviation) + JITTER * noise).astype(np.float32)
