"""The radius of each cluster: the distance from its center within which most of its maps lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARE = 0.95  # of the maps of a cluster that lie within its radius
HALF = 16  # bits counted in each of two passes
BINS = 1 << HALF

Part = tuple[NDArray[Any], NDArray[np.float32]]  # labels and distances of some maps


def radii(read: Callable[[], Iterable[Part]], clusters: int, share: float = SHARE) -> NDArray[np.float32]:
    """The smallest distance within which at least `share` of the maps of each cluster lie; NaN if it has none.

    It is exact, and memory does not grow with the number of maps: distances are not negative, so the bits of a float
    are ordered like its value, and two passes count their upper and their lower halves.

    >>> distances = np.array([1, 2, 3, 4, 9, 5], np.float32)
    >>> radii(lambda: [(np.array([0, 0, 0, 0, 0, 1]), distances)], 2, share=0.8).tolist()
    [4.0, 5.0]

    Parameters
    ----------
    read : callable
        Returns labels and distances of all maps, part by part; called twice. Labels below 0 are left out.
    clusters : int
        Number of clusters.
    share : float
        Share of the maps of a cluster that lie within its radius.

    Returns
    -------
    array (cluster,)
    """
    upper = _count(read(), clusters, lambda label, bits: (label, bits >> HALF))
    totals = upper.sum(1)
    rank = np.maximum(np.ceil(share * totals - 1e-9).astype(np.int64), 1)  # of the wanted distance, from 1
    first = np.minimum((np.cumsum(upper, 1) < rank[:, None]).sum(1), BINS - 1)
    rest = rank - np.where(np.arange(BINS) < first[:, None], upper, 0).sum(1)

    def in_first(label: NDArray[Any], bits: NDArray[np.uint32]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        inside = bits >> HALF == first[label]
        return label[inside], bits[inside] & (BINS - 1)

    lower = _count(read(), clusters, in_first)
    second = np.minimum((np.cumsum(lower, 1) < rest[:, None]).sum(1), BINS - 1)
    exact = ((first << HALF) | second).astype(np.uint32).view(np.float32)
    return np.where(totals > 0, exact, np.float32("nan")).astype(np.float32)


def _count(parts: Iterable[Part], clusters: int, place: Callable[..., Any]) -> NDArray[np.int64]:
    """Counts (cluster, bin)."""
    counts = np.zeros(clusters * BINS, np.int64)
    for labels, distances in parts:
        member = labels >= 0
        bits = np.ascontiguousarray(distances[member], np.float32).view(np.uint32)
        label, bin_number = place(labels[member].astype(np.int64), bits)
        np.add.at(counts, label * BINS + bin_number, 1)
    return counts.reshape(clusters, BINS)
