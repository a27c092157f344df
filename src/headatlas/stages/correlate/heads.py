"""Which heads are alike: in the clusters of their maps, and in their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy
from headatlas.numeric.pca import fit_pca
from headatlas.stages.correlate.vectors import Vectors

Array = NDArray[Any]
RELATED = 5
AXES = 64  # principal axes, at most, as for clusters
FITTED = 20_000  # maps that the axes are fitted to


def shares(table: Array) -> Array:
    """Profiles (…, slot, code): the share of a head's maps in each cluster."""
    profiles: Array = table / np.maximum(table.sum(-1, keepdims=True), 1)
    return profiles


def similarity(profile: Array) -> Array:
    """1 − Jensen–Shannon distance (with logarithms to base 2) of every two heads (slot, slot)."""
    entropies = entropy(profile)
    similarities = np.empty((len(profile), len(profile)))
    for slot in range(len(profile)):  # a row at a time bounds the memory
        middle = entropy((profile[slot] + profile) / 2)
        divergence = (middle - (entropies[slot] + entropies) / 2) / np.log(2)
        similarities[slot] = 1 - np.sqrt(np.clip(divergence, 0, 1))
    similarities[similarities > 1 - 1e-7] = 1.0  # equal profiles, up to rounding under the root
    return similarities


def head_distances(vectors: Vectors, seed: int) -> Array:
    """How far apart the vectors of every two heads are (slot, slot), by their mean and spread over texts.

    The 2-Wasserstein distance of normal distributions whose axes are the principal axes of all maps: the root of the
    squared differences of means and of standard deviations, summed over the axes. NaN for heads without maps.
    """
    places = np.argwhere(vectors.known)
    chosen = places[np.sort(np.random.default_rng([seed, 5]).permutation(len(places))[:FITTED])]
    axes = fit_pca(vectors.values[chosen[:, 0], chosen[:, 1]], components=AXES)
    moments = np.full((len(vectors.values), 2 * axes.axes.shape[1]), np.nan)  # (slot, means and deviations)
    for slot, known in enumerate(vectors.known):
        if known.any():
            coordinates = axes.apply(vectors.values[slot][known]).astype(np.float64)
            moments[slot] = np.concatenate([coordinates.mean(0), coordinates.std(0)])
    distances = np.empty((len(moments), len(moments)))
    for slot in range(len(moments)):  # a row at a time bounds the memory
        distances[slot] = np.sqrt(((moments - moments[slot]) ** 2).sum(1))
    return distances


def related(distances: Array, count: int = RELATED) -> list[tuple[int, int, int, float, float]]:
    """The nearest heads of each: (slot, rank, other, distance, share of all pairs of heads that are farther apart).

    >>> [(slot, other, share) for slot, _, other, _, share in related(np.abs(np.array([0, 1, 5]) - [[0], [1], [5]]), 1)]
    [(0, 1, 0.6666666666666666), (1, 0, 0.6666666666666666), (2, 1, 0.3333333333333333)]
    """
    pairs = np.sort(all_pairs(distances))
    ranked = []
    for slot, row in enumerate(distances):
        order = [int(other) for other in np.argsort(row, kind="stable") if other != slot and np.isfinite(row[other])]
        for rank, other in enumerate(order[:count]):
            farther = len(pairs) - int(np.searchsorted(pairs, row[other], side="right"))
            ranked.append((slot, rank, other, float(row[other]), farther / len(pairs)))
    return ranked


def all_pairs(distances: Array) -> Array:
    """The distance of each pair of heads, once; without heads that have no maps."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    return pairs[np.isfinite(pairs)]


def distance_scale(distances: Array) -> dict[str, float] | None:
    """The median and the largest distance of two heads; None if there are not two.

    >>> distance_scale(np.abs(np.array([0, 1, 5]) - [[0], [1], [5]]))
    {'typical': 4.0, 'largest': 5.0}
    """
    pairs = all_pairs(distances)
    return {"typical": float(np.median(pairs)), "largest": float(pairs.max())} if len(pairs) else None
