"""Heads by their clusters: what each mostly does, whether it has one job, and which heads are like it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy

Array = NDArray[Any]
RELATED = 5


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


def related(similarities: Array, means: Array, count: int = RELATED) -> list[tuple[int, int, int, float]]:
    """The most similar heads of each: (slot, rank, other, similarity); equals are ordered by their mean statistics."""
    scale = np.nanstd(means, 0)
    scaled = np.nan_to_num(means / np.where(scale > 0, scale, 1))
    ranked = []
    for slot, row in enumerate(similarities):
        distance = ((scaled - scaled[slot]) ** 2).sum(1)
        order = [int(other) for other in np.lexsort((distance, -row.round(9))) if other != slot]
        ranked += [(slot, rank, other, float(row[other])) for rank, other in enumerate(order[:count])]
    return ranked
