"""Clusters of the first atlas in every model: the main one of each head, and the share of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.schema import MISSING, NOISE
from headatlas.compare.matching import Matches
from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.effect import Draws

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Main:
    """The main cluster of each head, its share of the head's maps, and the share beyond the radius of their cluster."""

    cluster: Array  # (slot,) −1 noise, −2 none
    share: Floats
    outside: Floats


@dataclass(frozen=True)
class Shares:
    """The share of each cluster before and after, their difference, and its interval."""

    clusters: Array
    before: Floats
    after: Floats
    low: Floats
    high: Floats
    outside: Floats  # share of the maps after that are beyond the radius of their cluster


class Counted:
    """The clusters of one model, counted by head and by group of examples."""

    def __init__(self, clusters: int, slots: int, groups: int) -> None:
        self.heads = np.zeros((slots, clusters + 1), np.int64)  # noise last
        self.groups = np.zeros((groups, clusters + 1), np.int64)
        self.outside_heads = np.zeros(slots, np.int64)
        self.outside_clusters = np.zeros(clusters + 1, np.int64)

    def add(self, labels: Array, group: Array, outside: Array | None = None) -> None:
        """Add labels (example, slot) of examples of some groups; `outside`: beyond the radius of their cluster."""
        kinds = self.heads.shape[1]
        codes = np.where(labels == NOISE, kinds - 1, labels)
        example, slot = np.nonzero(labels != MISSING)
        code = codes[example, slot]
        self.heads += np.bincount(slot * kinds + code, minlength=self.heads.size).reshape(self.heads.shape)
        place = group[example] * kinds + code
        self.groups += np.bincount(place, minlength=self.groups.size).reshape(self.groups.shape)
        if outside is not None:
            self.outside_heads += outside.sum(0)
            far = outside[example, slot]
            self.outside_clusters += np.bincount(code[far], minlength=kinds)

    def main(self) -> Main:
        """The cluster with most maps of each head."""
        totals = self.heads.sum(1)
        code = self.heads.argmax(1)
        cluster = np.where(code == self.heads.shape[1] - 1, NOISE, code)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.heads.max(1) / totals
            outside = self.outside_heads / totals
        return Main(np.where(totals > 0, cluster, MISSING), share, outside)


def matched(main: Main, matches: Matches) -> Main:
    """The main clusters of the heads of another model, in the order of the heads of the first."""
    lacks = matches.counterpart < 0
    place = np.maximum(matches.counterpart, 0)
    unknown = np.nan
    return Main(
        np.where(lacks, MISSING, main.cluster[place]), np.where(lacks, unknown, main.share[place]),
        np.where(lacks, unknown, main.outside[place]),
    )  # fmt: skip


def compare_shares(before: Counted, after: Counted, draws: Draws) -> Shares:
    """Shares of all maps, with an interval of the difference by a bootstrap over groups; noise only if there is any."""
    kinds = before.groups.shape[1]
    clusters = np.append(np.arange(kinds - 1), NOISE)
    shown = np.append(np.full(kinds - 1, True), bool(before.groups[:, -1].any() or after.groups[:, -1].any()))
    drawn = [_shares(weights @ after.groups) - _shares(weights @ before.groups) for weights in draws]
    low, high = interval(np.array(drawn).reshape(-1, kinds))
    with np.errstate(invalid="ignore", divide="ignore"):
        outside = after.outside_clusters / after.groups.sum(0)
    shares = (_shares(each.groups.sum(0)) for each in (before, after))
    columns = [clusters, *shares, low, high, outside]
    return Shares(*(column[shown] for column in columns))


def _shares(counts: Array) -> Floats:
    shares: Floats = counts / max(1, counts.sum())
    return shares
