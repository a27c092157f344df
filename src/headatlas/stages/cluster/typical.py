"""The most typical clustering in k clusters among those of bootstrap samples, and the k that is found again best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from headatlas import parallel, progress
from headatlas.numeric.hierarchy import Reals, cut_at, ward
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.minis import Points

MOST = 40  # clusters
USUAL = 14  # clusters, if all numbers are found again equally well
DOUBT = 0.5  # how much more stable others must be, per logarithm of the factor between them and the usual number, …
MOST_DOUBT = 0.45  # … at most: two or three clusters are nearly always stable, even where there are finer ones
EXACT_DOUBT = 0.35  # the same for clusters that are found again exactly
EXACT = 0.995  # stability of clusters that are found again exactly, on all samples
ALWAYS = 0.97  # stability of clusters that are found again on every sample, nearly the same
STEPS = 100  # of Lloyd's algorithm at most


@dataclass(frozen=True)
class Level:
    """A clustering in k clusters: centers, and the stability of each cluster."""

    centers: Reals  # (cluster, axis)
    sizes: Reals  # (cluster,) maps
    stability: Reals  # (cluster,) mean Jaccard index with the most similar cluster of each bootstrap sample
    solutions: list[Reals]  # the centers that each bootstrap sample gives


def levels(whole: Points, samples: Sequence[Points], ks: Sequence[int], bar: bool = True) -> dict[int, Level]:
    """The most typical clustering for each k: of those of all samples, the one that is most similar to the others."""
    solved: list[list[Reals]] = [[] for _ in samples]
    with (
        progress.bar("clustering samples", len(samples), "samples") if bar else nullcontext(_silent) as advance,
        closing(parallel.run(partial(_solve_sample, samples, ks), range(len(samples)))) as results,
    ):
        for number, solutions in results:
            solved[number] = solutions
            advance(1)
    return {k: _typical(whole, [solutions[place] for solutions in solved]) for place, k in enumerate(ks)}


@single_thread()
def _solve_sample(samples: Sequence[Points], ks: Sequence[int], number: int) -> tuple[int, list[Reals]]:
    parallel.check()
    return number, solve(samples[number], ks)


def solve(points: Points, ks: Sequence[int]) -> list[Reals]:
    """Centers of k clusters for each k: Ward's method, and then Lloyd's algorithm, which moves points between them."""
    present = points.sizes > 0
    means, sizes = points.means[present], points.sizes[present]
    tree = ward(means, sizes)
    solutions = []
    for k in ks:
        labels = np.empty(len(means), np.int32)
        for label, node in enumerate(cut_at(tree.parent, k)):
            labels[tree.order[tree.first[node] : tree.last[node] + 1]] = label
        solutions.append(lloyd(means, sizes, _centers(means, sizes, labels, int(labels.max()) + 1)))
    return solutions


def lloyd(means: Reals, sizes: Reals, centers: Reals) -> Reals:
    """Lloyd's algorithm on weighted points. A center that loses all its points stays where it is."""
    labels = nearest(means, centers)
    for _ in range(STEPS):
        moved = _centers(means, sizes, labels, len(centers))
        centers = np.where(np.isnan(moved), centers, moved)
        labels, old = nearest(means, centers), labels
        if (labels == old).all():
            break
    return centers


def nearest(points: Reals, centers: Reals) -> Labels:
    """The nearest center of each point."""
    labels: Labels = ((centers**2).sum(1) - 2 * points @ centers.T).argmin(1).astype(np.int32)
    return labels


def _centers(means: Reals, sizes: Reals, labels: Labels, count: int) -> Reals:
    """Mean of each cluster; NaN where there is none."""
    weight = (labels == np.arange(count)[:, None]) * sizes  # (cluster, point)
    with np.errstate(invalid="ignore"):
        centers: Reals = (weight @ means) / weight.sum(1)[:, None]
    return centers


def _typical(whole: Points, solutions: list[Reals]) -> Level:
    labels = np.stack([nearest(whole.means, centers) for centers in solutions])  # (sample, point)
    similarity = similar(labels, labels, whole.sizes)  # (sample, cluster, sample)
    typical = solutions[int(np.nanmean(similarity, 1).sum(1).argmax())]
    centers = lloyd(whole.means, whole.sizes, typical)
    used, clusters = np.unique(nearest(whole.means, centers), return_inverse=True)
    stability = similar(clusters[None].astype(np.int32), labels, whole.sizes)[0, : len(used)].mean(1)
    return Level(centers[used], np.bincount(clusters, whole.sizes).astype(np.float64), stability, solutions)


def similar(labels: Labels, others: Labels, sizes: Reals) -> Reals:
    """Jaccard index (clustering, cluster, other clustering) of each cluster with the most similar one of another.

    Clusterings are labels (clustering, point) of points of some sizes. NaN for clusters without points.

    >>> similar(np.array([[0, 0, 1, 1]]), np.array([[1, 1, 0, 0], [0, 1, 1, 1]]), np.ones(4)).round(2).tolist()
    [[[1.0, 0.5], [1.0, 0.67]]]
    """
    count = int(max(labels.max(), others.max())) + 1
    mine, theirs = ((part[..., None] == np.arange(count)).transpose(0, 2, 1) for part in (labels, others))
    a, b = (part.reshape(-1, len(sizes)).astype(np.float64) for part in (mine, theirs))
    both = (a * sizes) @ b.T
    either = (a @ sizes)[:, None] + b @ sizes - both
    with np.errstate(invalid="ignore"):
        jaccard = np.where((a @ sizes)[:, None] > 0, both / either, np.nan)
    best: Reals = np.fmax.reduce(jaccard.reshape(len(labels), count, len(others), count), 3)
    return best


def choose(stability: Mapping[int, float]) -> int:
    """The number of clusters, given the mean stability of the clusters for each.

    Numbers far from the usual one are believed only if they are clearly more stable; then, if finer clusters are found
    again on every sample, the finest of these.

    >>> choose({3: 1.0, 7: 0.8, 14: 0.6, 28: 0.5}), choose({3: 0.9, 14: 0.7, 15: 0.7}), choose({14: 1.0, 30: 1.0})
    (3, 14, 30)
    """
    score = {k: value - doubt(k, value) for k, value in stability.items()}
    best = max(score, key=lambda k: (score[k], -k))
    return max([best, *(k for k, value in stability.items() if value >= ALWAYS)])


def doubt(k: int, stability: float) -> float:
    """How much more stable than the usual number of clusters this one must be.

    >>> [round(doubt(k, 0.9), 2) for k in (3, 7, 10, 12, 14, 16, 20, 28)], doubt(3, 1.0)
    ([0.45, 0.35, 0.17, 0.08, 0.0, 0.07, 0.18, 0.35], 0.35)
    """
    most = EXACT_DOUBT if stability >= EXACT else MOST_DOUBT
    return min(most, DOUBT * abs(math.log(k / USUAL)))


def _silent(steps: int) -> None:
    pass
