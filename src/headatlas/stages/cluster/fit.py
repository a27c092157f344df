"""Fitted clusterings: what gives any map its label, and how clusters are numbered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.schema import NOISE
from headatlas.stages.cluster.vectors import Floats

Labels = NDArray[np.int32]
ROOM = 1 << 24  # distances held at once: 64 MB as float32


@dataclass(frozen=True)
class Fit(ABC):
    """A fitted clustering. Its fields are plain arrays and numbers, so that workers can read it from a file."""

    centers: Floats  # mean of each cluster

    def label(self, x: Floats) -> tuple[Labels, Floats]:
        """Cluster of each map, and its distance to the center of that cluster (NaN for noise)."""
        labels = self.assign(x)
        return labels, self.distance(x, labels)

    @abstractmethod
    def assign(self, x: Floats) -> Labels:
        """Cluster of each map."""

    def labelings(self, x: Floats) -> dict[str, Labels]:
        """Every array of whole numbers that the method writes, for these maps: `labels`, and others if it has some."""
        return {"labels": self.assign(x)}

    def distance(self, x: Floats, labels: Labels) -> Floats:
        """Distance of each map to the center of its cluster; NaN for noise."""
        distance = np.full(len(x), np.nan, np.float32)
        clustered = labels >= 0
        distance[clustered] = np.linalg.norm(x[clustered] - self.centers[labels[clustered]], axis=1)
        return distance

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All fields, to be written to a file."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The same fit from what was read from a file."""
        values = {field.name: arrays[field.name] for field in fields(cls)}
        return cls(**{name: value if value.ndim else value.item() for name, value in values.items()})


@dataclass(frozen=True)
class NearestFit(Fit):
    """A map takes the cluster of the nearest of the first `len(owner)` points.

    It is noise if that point is beyond the cluster's reach or, for HDBSCAN, if fewer than `crowd` points of the fitted
    sample lie within it.
    """

    points: Floats  # centers (KMeans), core points (DBSCAN), or the whole sample, labeled ones first (HDBSCAN)
    owner: Labels  # cluster of each point
    reach: NDArray[np.float64]  # of each cluster
    crowd: int = 0

    def assign(self, x: Floats) -> Labels:
        """Cluster of each map, in batches that bound the memory."""
        labels = np.empty(len(x), np.int32)
        rows = max(1, ROOM // len(self.points))
        lengths = np.einsum("ij,ij->i", self.points, self.points)
        for start in range(0, len(x), rows):
            labels[start : start + rows] = self._nearest(x[start : start + rows], lengths)
        return labels

    def _nearest(self, x: Floats, lengths: Floats) -> Labels:
        distances = x @ self.points.T
        distances *= -2
        distances += lengths  # squared distance without the length of x, which does not change what is nearest
        nearest = distances[:, : len(self.owner)].argmin(1)
        labels: Labels = self.owner[nearest]
        if np.isinf(self.reach).all():
            return labels
        reach = self.reach[labels]
        far = np.linalg.norm(x.astype(np.float64) - self.points[nearest], axis=1) > reach
        if self.crowd:
            limit = reach**2 - np.einsum("ij,ij->i", x, x)
            far |= np.count_nonzero(distances <= limit[:, None], axis=1) < self.crowd
        return np.where(far, np.int32(NOISE), labels)


def of_centers(centers: NDArray[Any]) -> NearestFit:
    """Assignment to the nearest center, at any distance."""
    centers = centers.astype(np.float32)
    owner = np.arange(len(centers), dtype=np.int32)
    return NearestFit(centers, centers, owner, np.full(len(centers), np.inf))


def means(x: NDArray[Any], labels: Labels) -> NDArray[np.float64]:
    """Mean of each cluster.

    >>> means(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, -1], np.int32)).tolist()
    [[2.0]]
    """
    centers = np.empty((int(labels.max(initial=-1)) + 1, x.shape[1]))
    for cluster in range(len(centers)):
        centers[cluster] = x[labels == cluster].mean(0, dtype=np.float64)
    return centers


def by_size(labels: NDArray[Any], x: NDArray[Any]) -> Labels:
    """Number clusters by size, 0 the largest; equal sizes by the mean on the first axis. Empty ones are dropped.

    >>> by_size(np.array([5, 5, 2, 2, 2, -1]), np.zeros((6, 1))).tolist()
    [1, 1, 0, 0, 0, -1]
    """
    values, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    first_axis = np.bincount(inverse, x[:, 0].astype(np.float64)) / counts
    order = np.lexsort((first_axis, -counts))
    order = order[values[order] != NOISE]
    number = np.full(len(values), NOISE, np.int32)
    number[order] = np.arange(len(order))
    return number[inverse]


def old_numbers(old: NDArray[Any], new: Labels) -> NDArray[Any]:
    """For each new number of a cluster, the number it had before.

    >>> old_numbers(np.array([5, 5, 2, 2, 2]), np.array([1, 1, 0, 0, 0], np.int32)).tolist()
    [2, 5]
    """
    first = [np.flatnonzero(new == cluster)[0] for cluster in range(int(new.max()) + 1)]
    numbers: NDArray[Any] = old[first]
    return numbers
