"""What gives any map its label: points in the space of a clustering, whose they are, and how far they reach."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.schema import NOISE
from headatlas.numeric.pca import PrincipalAxes
from headatlas.stages.cluster.vectors import Floats

Labels = NDArray[np.int32]
ROOM = 1 << 24  # distances held at once: 64 MB as float32


@dataclass(frozen=True)
class Fit:
    """A fitted clustering.

    A map takes the cluster of the nearest of the first `len(owner)` points if that is within the cluster's reach and,
    for HDBSCAN, if at least `crowd` points of the fitted sample lie within it too; else it is noise.
    """

    points: Floats  # centres (KMeans), core points (DBSCAN), or the whole sample, labelled ones first (HDBSCAN)
    owner: Labels
    centres: Floats  # mean of each cluster
    reach: NDArray[np.float64]  # of each cluster
    crowd: int = 0

    def label(self, x: Floats) -> tuple[Labels, Floats]:
        """Cluster of each map and its distance to the centre of that cluster (NaN for noise)."""
        labels = np.empty(len(x), np.int32)
        rows = max(1, ROOM // len(self.points))
        lengths = np.einsum("ij,ij->i", self.points, self.points)
        for start in range(0, len(x), rows):
            labels[start : start + rows] = self._label(x[start : start + rows], lengths)
        return labels, self.distance(x, labels)

    def _label(self, x: Floats, lengths: Floats) -> Labels:
        apart = x @ self.points.T
        apart *= -2
        apart += lengths  # squared distance without the length of x, which does not change what is nearest
        nearest = apart[:, : len(self.owner)].argmin(1)
        labels: Labels = self.owner[nearest]
        if np.isinf(self.reach).all():
            return labels
        reach = self.reach[labels]
        far = np.linalg.norm(x.astype(np.float64) - self.points[nearest], axis=1) > reach
        if self.crowd:
            limit = reach**2 - np.einsum("ij,ij->i", x, x)
            far |= np.count_nonzero(apart <= limit[:, None], axis=1) < self.crowd
        return np.where(far, np.int32(NOISE), labels)

    def distance(self, x: Floats, labels: Labels) -> Floats:
        """Distance of each map to the centre of its cluster; NaN for noise."""
        found = np.full(len(x), np.nan, np.float32)
        there = labels >= 0
        found[there] = np.linalg.norm(x[there] - self.centres[labels[there]], axis=1)
        return found


def of_centres(centres: NDArray[Any]) -> Fit:
    """The nearest centre, however far."""
    centres = centres.astype(np.float32)
    owner = np.arange(len(centres), dtype=np.int32)
    return Fit(centres, owner, centres, np.full(len(centres), np.inf))


def means(x: NDArray[Any], labels: Labels) -> NDArray[np.float64]:
    """Mean of each cluster.

    >>> means(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, -1], np.int32)).tolist()
    [[2.0]]
    """
    found = np.empty((int(labels.max(initial=-1)) + 1, x.shape[1]))
    for cluster in range(len(found)):
        found[cluster] = x[labels == cluster].mean(0, dtype=np.float64)
    return found


def by_size(labels: NDArray[Any], x: NDArray[Any]) -> Labels:
    """Number clusters by size, 0 the largest; equal sizes by the mean on the first axis. Empty ones vanish.

    >>> by_size(np.array([5, 5, 2, 2, 2, -1]), np.zeros((6, 1))).tolist()
    [1, 1, 0, 0, 0, -1]
    """
    there, own, counts = np.unique(labels, return_inverse=True, return_counts=True)
    first = np.bincount(own, x[:, 0].astype(np.float64)) / counts
    order = np.lexsort((first, -counts))
    order = order[there[order] != NOISE]
    number = np.full(len(there), NOISE, np.int32)
    number[order] = np.arange(len(order))
    return number[own]


def to_bytes(space: PrincipalAxes, fit: Fit, **more: NDArray[Any]) -> bytes:
    """A clustering as a file that workers read; no pickles in it, and no times."""
    file = io.BytesIO()
    fields = {name: np.asarray(getattr(fit, name)) for name in ("points", "owner", "centres", "reach", "crowd")}
    np.savez(file, **vars(space), **fields, **more)  # type: ignore[arg-type]
    return file.getvalue()


def from_bytes(content: bytes) -> tuple[PrincipalAxes, Fit, dict[str, NDArray[Any]]]:
    """The same back, and what else was in the file."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        parts = dict(file)
    space = PrincipalAxes(**{name: parts.pop(name) for name in ("mean", "axes", "shares")})
    crowd = int(parts.pop("crowd"))
    fit = Fit(**{name: parts.pop(name) for name in ("points", "owner", "centres", "reach")}, crowd=crowd)
    return space, fit, parts
