"""How much of the variance of all vectors lies between heads, layers and examples, and how much within each head.

Chance values are exact means over the shuffles of `factors`: vectors of an example over its heads, in the same way in
all examples of a group; and vectors of a head over its examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.changes import Share, less_chance
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.vectors import Vectors

Array = NDArray[Any]


@dataclass(frozen=True)
class Within:
    """The variance of each head's vectors (slot,), and its ratio to the variance of all maps with interval."""

    variance: Array
    share: Array
    low: Array
    high: Array
    total: float


@dataclass
class Sums:
    """Sums over heads of what is needed for the observed values, for chance, and for each bootstrap draw."""

    head_means: Array  # (slot, feature), of vectors minus the mean of all
    layer_sums: Array  # (layer, feature) of the means of its heads
    example_sums: Array  # (row, feature) over heads
    lengths: Array  # (row,) squared, summed over heads
    within: Array  # (slot,) sum of squares
    group_squares: float  # of the sums over a group, summed over heads and groups
    group_sums: Array  # (group, feature) over heads
    drawn_within: Array  # (slot, draw)
    drawn_squares: Array  # (draw,) of means of heads
    drawn_layers: Array  # (layer, draw, feature) sums of the means of its heads


def variance_shares(vectors: Vectors, layer: Array, draws: Draws) -> tuple[dict[str, Share], Within]:
    """Shares of head, layer and example, from the examples in which every head has a map; and each head's variance."""
    rows = np.flatnonzero(vectors.known.all(0))
    slots = len(vectors.values)
    unknown = np.full(slots, np.nan)
    nothing = Within(unknown, unknown, unknown, unknown, float("nan"))
    if len(rows) < 2:
        return {}, nothing
    layer = np.unique(layer, return_inverse=True)[1]
    weights = np.array([drawn[vectors.group[rows]] for drawn in draws], np.float64).reshape(-1, len(rows))
    sums = _sums(vectors, rows, layer, weights)
    total = float(sums.lengths.sum())
    if total <= 0:
        return {}, nothing
    drawn_total, drawn = _drawn(sums, layer, weights)
    observed, chance = _observed(sums, layer, len(rows)), _chance(sums, layer, len(rows))
    shares = {}
    for name, value in observed.items():
        times = 1 if name == "example" else 2  # drawing examples again adds no noise to the mean of each
        if chance[name] / total < 1 - 1e-9:
            at_random = chance[name] / total
            with np.errstate(invalid="ignore", divide="ignore"):
                low, high = interval(less_chance(drawn[name] / drawn_total, at_random, times))
            explained = float(less_chance(value / total, at_random))
            shares[name] = Share(value / total, at_random, explained, float(low), float(high))
    return shares, _within(sums, total, drawn_total, weights, len(rows))


def _sums(vectors: Vectors, rows: Array, layer: Array, weights: Array) -> Sums:
    """Two passes over the heads: the mean of all vectors, then sums of what they differ from it."""
    slots, _, width = vectors.values.shape
    mean = sum(vectors.values[slot][rows].astype(np.float64).mean(0) for slot in range(slots)) / slots
    group = np.unique(vectors.group[rows], return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    layers, draws, size = int(layer.max()) + 1, len(weights), np.maximum(1, weights.sum(1))
    sums = Sums(
        np.zeros((slots, width)), np.zeros((layers, width)), np.zeros((len(rows), width)), np.zeros(len(rows)),
        np.zeros(slots), 0.0, np.zeros((len(starts), width)), np.zeros((slots, draws)), np.zeros(draws),
        np.zeros((layers, draws, width)),
    )  # fmt: skip
    for slot in range(slots):
        x = vectors.values[slot][rows].astype(np.float64) - mean
        sums.head_means[slot] = x.mean(0)
        sums.layer_sums[layer[slot]] += sums.head_means[slot]
        sums.example_sums += x
        lengths = (x**2).sum(1)
        sums.lengths += lengths
        sums.within[slot] = max(0.0, lengths.sum() - len(rows) * (sums.head_means[slot] ** 2).sum())
        groups = np.add.reduceat(x[order], starts, 0)
        sums.group_squares += float((groups**2).sum())
        sums.group_sums += groups
        means = weights @ x / size[:, None]
        squares = (means**2).sum(1)
        sums.drawn_within[slot] = weights @ lengths - size * squares
        sums.drawn_squares += squares
        sums.drawn_layers[layer[slot]] += means
    return sums


def _observed(sums: Sums, layer: Array, rows: int) -> dict[str, float]:
    """Sums of squares between heads, layers and examples."""
    slots, heads = len(sums.head_means), np.bincount(layer)
    return {
        "head": rows * float((sums.head_means**2).sum()),
        "layer": rows * float((sums.layer_sums**2 / heads[:, None]).sum()),
        "example": float((sums.example_sums**2).sum()) / slots,
    }


def _chance(sums: Sums, layer: Array, rows: int) -> dict[str, float]:
    """Their means over all shuffles."""
    slots, heads = len(sums.head_means), np.bincount(layer)
    variance = (sums.group_squares - float((sums.group_sums**2).sum()) / slots) / slots
    left = float(((slots - heads) / (slots - 1)).sum()) if slots > 1 else 0.0
    return {
        "head": slots * variance / rows,
        "layer": left * variance / rows,
        "example": float(sums.within.sum()) / slots,
    }


def _drawn(sums: Sums, layer: Array, weights: Array) -> tuple[Array, dict[str, Array]]:
    """Sums of squares (draw,) of the bootstrap: in total, and between heads, layers and examples."""
    slots, heads, size = len(sums.head_means), np.bincount(layer), weights.sum(1)
    mean = sums.drawn_layers.sum(0) / slots
    of_mean = slots * (mean**2).sum(1)
    by_layer = ((sums.drawn_layers**2).sum(2) / heads[:, None]).sum(0)
    by_example = weights @ (sums.example_sums**2).sum(1) / slots
    between = {
        "head": size * (sums.drawn_squares - of_mean),
        "layer": size * (by_layer - of_mean),
        "example": by_example - size * of_mean,
    }
    return weights @ sums.lengths - size * of_mean, between


def _within(sums: Sums, total: float, drawn_total: Array, weights: Array, rows: int) -> Within:
    slots = len(sums.within)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = interval((slots * sums.drawn_within / drawn_total).T)
    return Within(sums.within / rows, slots * sums.within / total, low, high, total / rows / slots)
