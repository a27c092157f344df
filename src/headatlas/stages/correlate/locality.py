"""Are heads of one layer, or of adjacent layers, more alike in their clusters than any two heads?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations as orders
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.heads import shares, similarity

Array = NDArray[Any]
PAIRS = 2_000_000  # pairs of heads times draws that the interval may cost


@dataclass(frozen=True)
class Locality:
    """Mean similarity of neighbors against that of all pairs; NaN where there are no such neighbors.

    Adjacent layers are held against all pairs of different layers: heads of one layer would hide what is compared.
    """

    neighbors: str
    similarity: float
    all_pairs: float
    difference: float
    low: float
    high: float
    p: float
    permutations: int


def locality(table: Array, layer: Array, permutations: int, seed: int, drawn: Array) -> list[Locality]:
    """Both kinds of neighbors, from counts (slot, code); `drawn` (draw, slot, code) gives the intervals.

    Heads of a layer have no order, so all of them are neighbors. Null for one layer: heads change places in the grid;
    for adjacent layers: whole layers do. Few layers can be ordered in few ways: then every order is tried.
    """
    layer = np.unique(layer, return_inverse=True)[1]
    alike = similarity(shares(table))
    draws = drawn[: max(20, PAIRS // max(1, len(layer) ** 2))]
    spread = [_differences(similarity(shares(one)), layer) for one in draws]
    low, high = interval(np.array(spread).reshape(-1, 2))
    seen = _differences(alike, layer)
    tests = [_same(alike, layer, permutations, seed), _adjacent(alike, layer, permutations, seed)]
    every = _all_pairs(alike, layer)
    return [
        Locality(name, seen[n] + every[n], every[n], seen[n], float(low[n]), float(high[n]), *tests[n])
        for n, name in enumerate(("same layer", "adjacent layers"))
    ]


def _mean(alike: Array, pairs: Array) -> float:
    return float(alike[pairs].mean()) if pairs.any() else float("nan")


def _all_pairs(alike: Array, layer: Array) -> tuple[float, float]:
    upper = np.triu(np.ones_like(alike, bool), 1)
    return _mean(alike, upper), _mean(alike, upper & (layer[:, None] != layer))


def _differences(alike: Array, layer: Array) -> tuple[float, float]:
    upper = np.triu(np.ones_like(alike, bool), 1)
    apart = np.abs(layer[:, None] - layer)
    same, adjacent = (_mean(alike, upper & (apart == steps)) for steps in (0, 1))
    every, different = _all_pairs(alike, layer)
    return same - every, adjacent - different


def _same(alike: Array, layer: Array, permutations: int, seed: int) -> tuple[float, int]:
    ones, others = np.nonzero(np.triu(layer[:, None] == layer, 1))
    if len(ones) == 0 or layer.max() == 0:
        return float("nan"), 0
    dice = np.random.default_rng([seed, 1])
    seen = alike[ones, others].mean()
    null = []
    for _ in range(permutations):
        order = dice.permutation(len(layer))
        null.append(alike[order[ones], order[others]].mean())
    return _p(seen, null), permutations


def _adjacent(alike: Array, layer: Array, permutations: int, seed: int) -> tuple[float, int]:
    layers = int(layer.max()) + 1
    if layers < 3:
        return float("nan"), 0
    member = np.eye(layers)[layer]
    sums, pairs = member.T @ alike @ member, np.outer(member.sum(0), member.sum(0))

    def mean(order: Array) -> float:
        return float(sums[order[:-1], order[1:]].sum() / pairs[order[:-1], order[1:]].sum())

    seen = mean(np.arange(layers))
    if factorial(layers) <= permutations + 1:
        every = [mean(np.array(order)) for order in orders(range(layers))]  # the order as it is comes first
        return _p(seen, every[1:]), len(every) - 1
    dice = np.random.default_rng([seed, 2])
    return _p(seen, (mean(dice.permutation(layers)) for _ in range(permutations))), permutations


def _p(seen: float, null: Iterable[float]) -> float:
    reached = [one >= seen - 1e-12 for one in null]
    return (1 + sum(reached)) / (1 + len(reached))
