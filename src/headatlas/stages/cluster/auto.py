"""Choosing without being told: which clustering comes back when the data is drawn anew, and where a curve bends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress, wording
from headatlas.errors import DataError
from headatlas.stages.cluster.backends import one_thread
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.vectors import Floats

PAIRS = 5
GRID = (5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40)  # fewer always come back, and say little
TIE = 0.01  # stabilities nearer than this are equal
ABSENT = np.int32(-9)  # a map that was not drawn

Regroup = Callable[[Floats, NDArray[np.int64], int], Labels]  # points, how often each was drawn, seed


@dataclass(frozen=True)
class Stability:
    """Clusterings of bootstrap samples, two by two, and how far the two of each pair agree."""

    groups: tuple[Labels, ...]  # a label for each map, ABSENT where it was not drawn
    values: tuple[float, ...]  # adjusted Rand index of each pair on the maps both drew

    @property
    def mean(self) -> float:
        """The stability."""
        return float(np.mean(self.values))

    def of_clusters(self, labels: Labels) -> list[float]:
        """For each cluster, the Jaccard index with the most similar cluster of each bootstrap sample, averaged."""
        return [
            float(np.mean([_best_match(labels == cluster, groups) for groups in self.groups]))
            for cluster in range(int(labels.max(initial=-1)) + 1)
        ]


def _best_match(members: NDArray[np.bool_], groups: Labels) -> float:
    drawn = groups != ABSENT
    members, groups = members[drawn], groups[drawn]
    inside, counts = np.unique(groups[members & (groups >= 0)], return_counts=True)
    whole = np.array([np.count_nonzero(groups == one) for one in inside])
    return float((counts / (members.sum() + whole - counts)).max(initial=0.0))


def stability(
    ways: Sequence[Regroup], x: Floats, *, seed: int, pairs: int = PAIRS, bar: bool = True
) -> list[Stability]:
    """The stability of each way to cluster these points; all ways see the same bootstrap samples."""
    from sklearn.metrics import adjusted_rand_score

    dice = np.random.default_rng([seed, 77])
    drawn = [np.bincount(dice.integers(len(x), size=len(x)), minlength=len(x)) for _ in range(2 * pairs)]
    groups: list[list[Labels]] = [[np.empty(0, np.int32)] * len(drawn) for _ in ways]
    tasks = [(way, number) for way in range(len(ways)) for number in range(len(drawn))]
    with (
        progress.bar("trying stability", len(tasks), "fits") if bar else nullcontext(_silent) as advance,
        closing(parallel.run(partial(_regroup, ways, x, drawn, seed), tasks)) as found,
    ):
        for way, number, labels in found:
            groups[way][number] = labels
            advance(1)
    results = []
    for own in groups:
        values = []
        for a, b in zip(own[::2], own[1::2], strict=True):
            both = (a != ABSENT) & (b != ABSENT)
            values.append(float(adjusted_rand_score(a[both], b[both])))
        results.append(Stability(tuple(own), tuple(values)))
    return results


def _silent(steps: int) -> None:
    pass


def _regroup(
    ways: Sequence[Regroup], x: Floats, drawn: list[NDArray[np.int64]], seed: int, task: tuple[int, int]
) -> tuple[int, int, Labels]:
    parallel.check()
    one_thread()
    way, number = task
    there = drawn[number] > 0
    labels = np.full(len(x), ABSENT, np.int32)
    labels[there] = ways[way](x[there], drawn[number][there], seed + number)
    return way, number, labels


def grid(n: int) -> list[int]:
    """Numbers of clusters worth trying for n points: about three points a cluster, at least.

    >>> grid(10_000)[-1], grid(30), grid(7), grid(3)
    (40, [5, 6, 7, 8, 10], [2], [2])
    """
    found = [k for k in GRID if k <= n // 3] or [k for k in (2, 3, 4) if k <= n // 3] or [2]
    if n < 3:
        raise DataError(f"{wording.many(n, 'map')}: too few to choose a number of clusters. Give k")
    return found


def knee(values: NDArray[np.float64]) -> float:
    """The value of a rising curve that lies farthest below the chord from its first point to its last.

    >>> knee(np.array([0.0, 0.1, 0.2, 0.3, 5.0, 10.0]))
    0.3
    """
    values = np.sort(values)
    span = values[-1] - values[0]
    if not span:
        return float(values[0])
    below = np.linspace(0, 1, len(values)) - (values - values[0]) / span
    return float(values[below.argmax()])
