"""Cluster attention maps, or heads: which maps look alike, how sure that is, and what it goes along with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.stages.cluster.methods import DBSCAN, HDBSCAN, KMeans
from headatlas.stages.cluster.stage import Request, cluster
from headatlas.stages.cluster.sweep import sweep
from headatlas.stages.cluster.vectors import Level

__all__ = ["METHODS", "dbscan", "hdbscan", "kmeans", "sweep"]

Labels = NDArray[np.int32]


def kmeans(
    atlas: Atlas,
    *,
    k: int | Literal["auto"] = "auto",
    of: str | None = None,
    name: str | None = None,
    level: Level = "maps",
    sample: int = 100_000,
    seed: int = 0,
    backend: str = "sklearn",
    workers: int = 0,
    scheduler: str | None = None,
) -> Labels:
    """Labels (example, layer, head) by nearest of `k` centres; `auto` takes the most stable k of a grid.

    `of` names the features (the latest), `name` the result. Centres come from `sample` maps, equally many of each head
    (0: from all maps, block by block, shared among `workers` or a Dask cluster). With `level="heads"` the mean vector
    of each head is clustered, and its maps share its label.
    """
    return cluster(atlas, Request(KMeans(k, backend), of, name, level, sample, seed, workers, scheduler))


def dbscan(
    atlas: Atlas,
    *,
    eps: float | Literal["auto"] = "auto",
    min_samples: int = 10,
    of: str | None = None,
    name: str | None = None,
    level: Level = "maps",
    sample: int = 20_000,
    seed: int = 0,
    backend: str = "sklearn",
    workers: int = 0,
    scheduler: str | None = None,
) -> Labels:
    """Labels (example, layer, head) by density: -1 is noise. `auto` takes eps from the knee of neighbour distances."""
    method = DBSCAN(eps, min_samples, backend)
    return cluster(atlas, Request(method, of, name, level, sample, seed, workers, scheduler))


def hdbscan(
    atlas: Atlas,
    *,
    min_cluster_size: int | Literal["auto"] = "auto",
    min_samples: int | None = None,
    of: str | None = None,
    name: str | None = None,
    level: Level = "maps",
    sample: int = 8_000,
    seed: int = 0,
    backend: str = "sklearn",
    workers: int = 0,
    scheduler: str | None = None,
) -> Labels:
    """Labels (example, layer, head) by densities of every scale: -1 is noise. `auto` takes one map in two hundred."""
    method = HDBSCAN(min_cluster_size, min_samples, backend)
    return cluster(atlas, Request(method, of, name, level, sample, seed, workers, scheduler))


METHODS: dict[str, Callable[..., Labels]] = {"kmeans": kmeans, "dbscan": dbscan, "hdbscan": hdbscan}
