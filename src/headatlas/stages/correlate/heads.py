"""Heads by their clusters: what each mostly does, whether it has one job, and which heads are like it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy

Array = NDArray[Any]
RELATED = 5


def shares(table: Array) -> Array:
    """Profiles (…, slot, code): which share of a head's maps lies in each cluster."""
    found: Array = table / np.maximum(table.sum(-1, keepdims=True), 1)
    return found


def similarity(profile: Array) -> Array:
    """1 − Jensen–Shannon distance (with logarithms to base 2) of every two heads (slot, slot)."""
    own = entropy(profile)
    found = np.empty((len(profile), len(profile)))
    for one in range(len(profile)):  # a row at a time bounds the memory
        middle = entropy((profile[one] + profile) / 2)
        divergence = (middle - (own[one] + own) / 2) / np.log(2)
        found[one] = 1 - np.sqrt(np.clip(divergence, 0, 1))
    found[found > 1 - 1e-7] = 1.0  # equal profiles, up to rounding under the root
    return found


def related(alike: Array, means: Array, count: int = RELATED) -> list[tuple[int, int, int, float]]:
    """The most similar heads of each: (slot, rank, other, similarity); equals are ordered by their mean statistics."""
    scale = np.nanstd(means, 0)
    scaled = np.nan_to_num(means / np.where(scale > 0, scale, 1))
    found = []
    for slot, row in enumerate(alike):
        away = ((scaled - scaled[slot]) ** 2).sum(1)
        order = [int(other) for other in np.lexsort((away, -row.round(9))) if other != slot]
        found += [(slot, rank, other, float(row[other])) for rank, other in enumerate(order[:count])]
    return found
