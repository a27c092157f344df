"""The radius of each cluster: the distance from its center within which most of its maps lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARE = 0.95  # of the maps of a cluster that lie within its radius
DIGITS = (11, 10, 10)  # bits counted in each pass, the highest first: those of a float without its sign

Part = tuple[NDArray[Any], NDArray[np.float32]]  # labels and distances of some maps


def radii(read: Callable[[], Iterable[Part]], clusters: int, share: float = SHARE) -> NDArray[np.float32]:
    """The smallest distance within which at least `share` of the maps of each cluster lie; NaN if it has none.

    It is exact, and memory does not grow with the number of maps: distances are not negative, so the bits of a float
    are ordered like its value, and each pass finds some more of them.

    >>> distances = np.array([1, 2, 3, 4, 9, 5], np.float32)
    >>> radii(lambda: [(np.array([0, 0, 0, 0, 0, 1]), distances)], 2, share=0.8).tolist()
    [4.0, 5.0]

    Parameters
    ----------
    read : callable
        Returns labels and distances of all maps, part by part; called three times. Labels below 0 are left out.
    clusters : int
        Number of clusters.
    share : float
        Share of the maps of a cluster that lie within its radius.

    Returns
    -------
    array (cluster,)
    """
    known, totals = np.zeros(clusters, np.int64), np.zeros(clusters, np.int64)  # bits known so far, number of maps
    rank = np.zeros(clusters, np.int64)  # of the wanted distance among those with these bits, from 1
    shift = sum(DIGITS)
    for width in DIGITS:
        shift -= width
        counts = _count(read(), known, shift, width)
        if not totals.any():
            totals = counts.sum(1)
            rank = np.maximum(np.ceil(share * totals - 1e-9).astype(np.int64), 1)
        sums = np.cumsum(counts, 1)
        digit = np.minimum((sums < rank[:, None]).sum(1), (1 << width) - 1)
        rank = rank - np.take_along_axis(sums - counts, digit[:, None], 1)[:, 0]
        known = known << width | digit
    return np.where(totals > 0, known.astype(np.uint32).view(np.float32), np.float32("nan"))


def _count(parts: Iterable[Part], known: NDArray[np.int64], shift: int, width: int) -> NDArray[np.int64]:
    """Counts (cluster, digit) of the next `width` bits of the distances whose higher bits are those of `known`."""
    counts = np.zeros(len(known) << width, np.int64)
    for labels, distances in parts:
        member = labels >= 0
        label = labels[member].astype(np.int64)
        bits = np.ascontiguousarray(distances[member], np.float32).view(np.uint32) >> shift
        same = bits >> width == known[label]
        digit = bits[same] & ((1 << width) - 1)
        counts += np.bincount((label[same] << width) + digit, minlength=len(counts))
    return counts.reshape(len(known), -1)
