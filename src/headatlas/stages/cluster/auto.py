"""How `auto` chooses: the clustering that is reproduced best on other samples of the data, or the knee of a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress, wording
from headatlas.errors import DataError
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.vectors import Floats

PAIRS = 5
GRID = (5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40)  # fewer clusters are always stable, and say little
TIE = 0.01  # stabilities that differ by less are equal
ABSENT = np.int32(-9)  # a map that was not drawn
STABLEST = (
    f"the most stable of {', '.join(map(str, GRID))}, as far as there are three maps per cluster; "
    f"stabilities within {TIE} are equal, and the smaller k is taken"
)

Regroup = Callable[[Floats, NDArray[np.int64], int], Labels]  # points, how often each was drawn, seed


@dataclass(frozen=True)
class Stability:
    """Clusterings of pairs of bootstrap samples, and how far the two of each pair agree."""

    groups: tuple[Labels, ...]  # a label for each map, ABSENT where it was not drawn
    values: tuple[float, ...]  # adjusted Rand index of each pair on the maps both drew

    @property
    def mean(self) -> float:
        """The stability."""
        return float(np.mean(self.values))

    def of_clusters(self, labels: Labels, count: int) -> list[float]:
        """For each cluster, the Jaccard index with the most similar cluster of each bootstrap sample, averaged.

        There are `count` clusters; one so small that none of its maps is among those tried has 0.
        """
        return [
            float(np.mean([_best_match(labels == cluster, groups) for groups in self.groups]))
            for cluster in range(count)
        ]


def _best_match(members: NDArray[np.bool_], groups: Labels) -> float:
    drawn = groups != ABSENT
    members, groups = members[drawn], groups[drawn]
    candidates, counts = np.unique(groups[members & (groups >= 0)], return_counts=True)
    sizes = np.array([np.count_nonzero(groups == candidate) for candidate in candidates])
    return float((counts / (members.sum() + sizes - counts)).max(initial=0.0))


def most_stable(regroups: Sequence[Regroup], x: Floats, *, seed: int, bar: bool = True) -> tuple[int, list[Stability]]:
    """The index of the most stable method, the first in case of ties, and the stability of each."""
    stabilities = stability(regroups, x, seed=seed, bar=bar)
    means = np.array([result.mean for result in stabilities])
    return int(np.argmax(means >= means.max() - TIE)), stabilities  # argmax gives the first


def stability(
    regroups: Sequence[Regroup], x: Floats, *, seed: int, pairs: int = PAIRS, bar: bool = True
) -> list[Stability]:
    """The stability of each method on these points; all methods get the same bootstrap samples."""
    rng = np.random.default_rng([seed, 77])
    drawn = [np.bincount(rng.integers(len(x), size=len(x)), minlength=len(x)) for _ in range(2 * pairs)]
    groups: list[list[Labels]] = [[np.empty(0, np.int32)] * len(drawn) for _ in regroups]
    tasks = [(method, number) for method in range(len(regroups)) for number in range(len(drawn))]
    with (
        progress.bar("trying stability", len(tasks), "fits") if bar else nullcontext(_silent) as advance,
        closing(parallel.run(partial(_regroup, regroups, x, drawn, seed), tasks)) as results,
    ):
        for method, number, labels in results:
            groups[method][number] = labels
            advance(1)
    return [Stability(tuple(samples), agreement(samples)) for samples in groups]


def agreement(samples: Sequence[Labels]) -> tuple[float, ...]:
    """Adjusted Rand index of the first two clusterings, the next two, and so on, on the maps that both drew."""
    from sklearn.metrics import adjusted_rand_score

    values = []
    for first, second in zip(samples[::2], samples[1::2], strict=True):
        both = (first != ABSENT) & (second != ABSENT)
        values.append(float(adjusted_rand_score(first[both], second[both])))
    return tuple(values)


def _silent(steps: int) -> None:
    pass


@single_thread()
def _regroup(
    regroups: Sequence[Regroup], x: Floats, drawn: list[NDArray[np.int64]], seed: int, task: tuple[int, int]
) -> tuple[int, int, Labels]:
    parallel.check()
    method, number = task
    present = drawn[number] > 0
    labels = np.full(len(x), ABSENT, np.int32)
    labels[present] = regroups[method](x[present], drawn[number][present], seed + number)
    return method, number, labels


def grid(n: int) -> list[int]:
    """Numbers of clusters worth trying for n points: at least about three points per cluster.

    >>> grid(10_000)[-1], grid(30), grid(7), grid(3)
    (40, [5, 6, 7, 8, 10], [2], [2])
    """
    if n < 3:
        raise DataError(f"{wording.many(n, 'map')}: too few to choose a number of clusters. Give k")
    return [k for k in GRID if k <= n // 3] or [k for k in (2, 3, 4) if k <= n // 3] or [2]


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
