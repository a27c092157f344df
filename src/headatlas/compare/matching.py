"""Which head of another model a head is compared with: the one at its place, or the one that does most nearly as it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.sampling import Heads

By = Literal["place", "function"]
Floats = NDArray[np.float64]
UNMATCHED = -1


@dataclass(frozen=True)
class Matches:
    """For each head of the first model its counterpart, as a row of the other's heads; −1 for none.

    Of heads matched by function: the distance of their mean vectors, its rank among the distances to all heads of the
    other model (1 is the nearest), and the mean distance to the heads at the same relative depth, which is what a match
    by chance has.
    """

    counterpart: NDArray[np.int64]
    distance: Floats
    rank: NDArray[np.int64]
    null_distance: Floats
    by: By

    def select(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (example, head of the other, …) as (example, head of the first, …); NaN for heads without one."""
        if self.by == "place":
            return values
        selected = values[:, np.maximum(self.counterpart, 0)]
        selected[:, self.counterpart == UNMATCHED] = np.nan
        return selected


def by_place(heads: int) -> Matches:
    """Every head with the head at its place.

    >>> by_place(3).counterpart.tolist()
    [0, 1, 2]
    """
    nothing = np.full(heads, np.nan)
    return Matches(np.arange(heads), nothing, np.zeros(heads, np.int64), nothing, "place")


def by_function(first: Floats, other: Floats, first_heads: Heads, other_heads: Heads) -> Matches:
    """Heads matched one to one so that the distances of their vectors (head, feature) have the least sum.

    >>> heads = np.array([[0, 0], [0, 1]])
    >>> matches = by_function(np.array([[0.0], [5.0]]), np.array([[5.5], [0.0]]), heads, heads)
    >>> matches.counterpart.tolist(), matches.distance.tolist(), matches.rank.tolist(), matches.null_distance.tolist()
    ([1, 0], [0.0, 0.5], [1, 1], [2.75, 2.75])
    """
    from scipy.optimize import linear_sum_assignment

    distances = _distances(first, other)
    rows, columns = linear_sum_assignment(distances)
    counterpart = np.full(len(first), UNMATCHED)
    counterpart[rows] = columns
    distance, rank = np.full(len(first), np.nan), np.zeros(len(first), np.int64)
    distance[rows] = distances[rows, columns]
    rank[rows] = 1 + (distances[rows] < distance[rows, None]).sum(1)
    same_depth = _same_depth(first_heads, other_heads)
    null = np.where(same_depth, distances, 0).sum(1) / same_depth.sum(1)
    return Matches(counterpart, distance, rank, null, "function")


def _distances(first: Floats, other: Floats) -> Floats:
    """Euclidean distances (head, head), a row at a time."""
    return np.array([np.sqrt(((other - vector) ** 2).sum(1)) for vector in first])


def _same_depth(first_heads: Heads, other_heads: Heads) -> NDArray[np.bool_]:
    """Whether a head of the other model (column) is in the layer at the relative depth of a head of the first (row)."""
    layers, others = (int(heads[:, 0].max()) for heads in (first_heads, other_heads))
    depth = np.rint(first_heads[:, 0] * (others / max(layers, 1))).astype(np.int64)
    same: NDArray[np.bool_] = depth[:, None] == other_heads[:, 0]
    return same
