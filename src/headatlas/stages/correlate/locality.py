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
PAIRS = 2_000_000  # limit on pairs of heads times draws for the interval


@dataclass(frozen=True)
class Locality:
    """Mean similarity of neighbors against that of all pairs; NaN where there are no such neighbors.

    Adjacent layers are compared with all pairs of different layers: pairs within a layer would mask the difference.
    """

    neighbors: str
    similarity: float
    all_pairs: float
    difference: float
    low: float
    high: float
    p: float
    permutations: int
    untested: str | None = None  # why there is no p: `few groups`, `few layers`


def locality(table: Array, layer: Array, permutations: int, seed: int, drawn: Array) -> list[Locality]:
    """Both kinds of neighbors, from counts (slot, code); `drawn` (draw, slot, code) gives the intervals.

    Heads of a layer have no order, so all of them are neighbors. The null for one layer permutes heads in the grid;
    for adjacent layers it permutes whole layers. If there are few layers, every order is tried. Without permutations,
    because there are too few texts, nothing is tested.
    """
    layer = np.unique(layer, return_inverse=True)[1]
    similarities = similarity(shares(table))
    draws = drawn[: max(20, PAIRS // max(1, len(layer) ** 2))]
    spread = [_differences(similarity(shares(draw)), layer) for draw in draws]
    low, high = interval(np.array(spread).reshape(-1, 2))
    observed = _differences(similarities, layer)
    tests: list[tuple[float, int]] = [(float("nan"), 0)] * 2
    if permutations:
        tests = [_same(similarities, layer, permutations, seed), _adjacent(similarities, layer, permutations, seed)]
    baseline = _all_pairs(similarities, layer)
    localities = []
    for n, name in enumerate(("same layer", "adjacent layers")):
        p, shuffles = tests[n]
        untested = None if p == p else "few layers" if permutations else "few groups"
        numbers = (observed[n] + baseline[n], baseline[n], observed[n], float(low[n]), float(high[n]))
        localities.append(Locality(name, *numbers, p, shuffles, untested))
    return localities


def _mean(similarities: Array, pairs: Array) -> float:
    return float(similarities[pairs].mean()) if pairs.any() else float("nan")


def _all_pairs(similarities: Array, layer: Array) -> tuple[float, float]:
    upper = np.triu(np.ones_like(similarities, bool), 1)
    return _mean(similarities, upper), _mean(similarities, upper & (layer[:, None] != layer))


def _differences(similarities: Array, layer: Array) -> tuple[float, float]:
    upper = np.triu(np.ones_like(similarities, bool), 1)
    layer_distance = np.abs(layer[:, None] - layer)
    same, adjacent = (_mean(similarities, upper & (layer_distance == steps)) for steps in (0, 1))
    all_pairs, other_layers = _all_pairs(similarities, layer)
    return same - all_pairs, adjacent - other_layers


def _same(similarities: Array, layer: Array, permutations: int, seed: int) -> tuple[float, int]:
    first, second = np.nonzero(np.triu(layer[:, None] == layer, 1))
    if len(first) == 0 or layer.max() == 0:
        return float("nan"), 0
    rng = np.random.default_rng([seed, 1])
    observed = similarities[first, second].mean()
    null = []
    for _ in range(permutations):
        order = rng.permutation(len(layer))
        null.append(similarities[order[first], order[second]].mean())
    return _p(observed, null), permutations


def _adjacent(similarities: Array, layer: Array, permutations: int, seed: int) -> tuple[float, int]:
    layers = int(layer.max()) + 1
    if layers < 3:
        return float("nan"), 0
    member = np.eye(layers)[layer]
    sums, pairs = member.T @ similarities @ member, np.outer(member.sum(0), member.sum(0))

    def mean(order: Array) -> float:
        return float(sums[order[:-1], order[1:]].sum() / pairs[order[:-1], order[1:]].sum())

    observed = mean(np.arange(layers))
    if factorial(layers) <= permutations + 1:
        means = [mean(np.array(order)) for order in orders(range(layers))]  # the observed order comes first
        return _p(observed, means[1:]), len(means) - 1
    rng = np.random.default_rng([seed, 2])
    return _p(observed, (mean(rng.permutation(layers)) for _ in range(permutations))), permutations


def _p(observed: float, null: Iterable[float]) -> float:
    reached = [value >= observed - 1e-12 for value in null]
    return (1 + sum(reached)) / (1 + len(reached))
