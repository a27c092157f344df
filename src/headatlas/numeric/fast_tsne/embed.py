"""From vectors to positions: neighbors, principal components as a start, two phases of descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.fast_tsne.affinities import joint_probabilities
from headatlas.numeric.fast_tsne.descent import descend
from headatlas.numeric.fast_tsne.divergence import divergence
from headatlas.numeric.fast_tsne.mesh import Mesh
from headatlas.numeric.fast_tsne.pairs import AllPairs
from headatlas.numeric.fast_tsne.perplexity import PERPLEXITY, perplexity_for
from headatlas.numeric.pca import fit_pca

FEWEST = 4  # points; fewer have no neighborhoods
START, JITTER = 1e-4, 0.01  # deviation of the first positions along the first axis; share of it that is random
# The phase with exaggeration has the numbers of openTSNE. After it, openTSNE makes 500 iterations with a learning rate
# of n and a momentum of 0.8; fewer iterations with more momentum were chosen on one head of MiniLM.
EARLY: dict[str, Any] = {"iterations": 250, "exaggeration": 12.0, "momentum": 0.8}
LATE: dict[str, Any] = {"iterations": 200, "exaggeration": 1.0, "momentum": 0.95}
RATES = 1.0, 0.5  # learning rate of each phase, times n / exaggeration


def embed(
    vectors: NDArray[np.floating[Any]], dims: int = 2, perplexity: float = PERPLEXITY, seed: int = 0
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
    place, repulsion = np.ascontiguousarray(start.T), Mesh() if dims == 2 else AllPairs()
    for phase, rate in zip((EARLY, LATE), RATES, strict=True):
        descend(p, place, repulsion, rate=rate * len(points) / phase["exaggeration"], **phase)
    positions = np.ascontiguousarray(place.T)
    return positions, divergence(p, positions)


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
