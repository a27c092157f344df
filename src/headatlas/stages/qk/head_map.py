"""Heads as points: near one another if their queries and keys lie alike, or if their mean maps are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.pca import fit_pca
from headatlas.stages.qk.methods import pca
from headatlas.stages.qk.tsne import tsne

Floats = NDArray[np.floating[Any]]

LANDMARKS = 64  # queries, and keys, whose distances describe a head
PAIRS = LANDMARKS * (2 * LANDMARKS - 1)
RELATED = 5
FEW = 32  # heads; fewer are placed by PCA
PERPLEXITY = 10
AXES = 50


def shape_of(query: Floats, key: Floats) -> NDArray[np.float32]:
    """What the joint space of a head looks like: ranks of the distances among landmarks, with mean 0 and variance 1.

    Landmarks are the queries and keys of tokens that are evenly spaced over the sample, the same in all heads of a
    layer. Rotating, shifting or stretching the space changes nothing. The mean product of two such vectors is the rank
    correlation of the distances in two heads.

    >>> points = np.random.default_rng(0).normal(size=(2, 90, 3))
    >>> turned = points[..., [2, 0, 1]] * 3 + 1
    >>> bool(np.allclose(shape_of(*points), shape_of(*turned), atol=1e-3))
    True
    """
    from scipy.spatial.distance import pdist
    from scipy.stats import rankdata

    points = np.concatenate([_landmarks(query), _landmarks(key)]).astype(np.float64)
    ranks = rankdata(pdist(points).astype(np.float32))  # rounded, so that equal distances have equal ranks
    standardized: NDArray[np.float32] = ((ranks - ranks.mean()) / (ranks.std() or 1)).astype(np.float32)
    return standardized


def _landmarks(vectors: Floats) -> Floats:
    chosen: Floats = vectors[np.linspace(0, len(vectors) - 1, LANDMARKS).round().astype(int)]
    return chosen


def map_of(vectors: Floats, seed: int) -> tuple[NDArray[np.float32], Floats]:
    """Positions (head, 2) of heads by vectors (head, feature), and the distances (head, head) of the vectors."""
    vectors = vectors.astype(np.float64)
    squares = (vectors**2).sum(1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * (vectors @ vectors.T), 0))
    np.fill_diagonal(distances, 0)
    if (distances <= 1e-6).all():
        return np.zeros((len(vectors), 2), np.float32), distances
    axes = fit_pca(vectors, components=AXES).apply(vectors)
    positions, _ = pca(axes, 2, seed) if len(vectors) < FEW else tsne(axes, 2, seed, PERPLEXITY)
    return positions, distances


def nearest(distances: Floats, count: int = RELATED) -> list[tuple[int, int, int, float]]:
    """The nearest heads of each: head, rank from 0, other head, distance.

    >>> nearest(np.abs(np.array([0, 1, 5]) - [[0], [1], [5]]), 1)
    [(0, 0, 1, 1.0), (1, 0, 0, 1.0), (2, 0, 1, 4.0)]
    """
    ranked = []
    for head, row in enumerate(distances):
        order = [int(other) for other in np.argsort(row, kind="stable") if other != head]
        ranked += [(head, rank, other, float(row[other])) for rank, other in enumerate(order[:count])]
    return ranked
