"""Who does the fitting: scikit-learn on the CPU, or cuML on a GPU. Each method takes and gives plain arrays."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.schema import NOISE
from headatlas.errors import OptionError
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.fit import ROOM, Labels

Weights = NDArray[Any] | None


@contextmanager
def alone() -> Iterator[None]:
    """One core for all that is computed inside, and no warning that there are fewer different maps than clusters."""
    from sklearn.exceptions import ConvergenceWarning

    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `KMeans.fit` reports it
        yield


def noise(labels: NDArray[Any]) -> Labels:
    """Whatever a backend calls noise becomes -1: any negative number, or one no cluster can have.

    >>> noise(np.array([0, 1, -3, 2147483647])).tolist()
    [0, 1, -1, -1]
    """
    wide = np.asarray(labels).astype(np.int64)
    return np.where((wide < 0) | (wide >= len(wide)), NOISE, wide).astype(np.int32)


def core_distances(x: NDArray[Any], min_samples: int) -> NDArray[np.float64]:
    """Distance of each point to its `min_samples`-th neighbour, itself counted as the first, as scikit-learn counts."""
    from sklearn.neighbors import NearestNeighbors

    x = x.astype(np.float64)
    search = NearestNeighbors(n_neighbors=min(min_samples, len(x)), algorithm="brute").fit(x)
    found: NDArray[np.float64] = search.kneighbors(x)[0][:, -1]
    return found


def _sklearn_kmeans(x: NDArray[Any], k: int, seed: int, restarts: int, weights: Weights) -> NDArray[Any]:
    from sklearn.cluster import KMeans

    found = KMeans(k, n_init=restarts, random_state=seed, algorithm="lloyd").fit(x, sample_weight=weights)
    centres: NDArray[Any] = found.cluster_centers_
    return centres


def _sklearn_dbscan(x: NDArray[Any], eps: float, min_samples: int, cores: NDArray[np.bool_]) -> Labels:
    """Connected parts of the core points, found by flooding: scikit-learn's own keeps every pair of neighbours."""
    x = x[cores].astype(np.float64)
    lengths = np.einsum("ij,ij->i", x, x)
    labels = np.full(len(x), NOISE, np.int32)
    left = np.arange(len(x))  # not reached yet
    rows = max(1, ROOM // 2 // max(1, len(x)))
    cluster = -1
    while len(left):
        cluster += 1
        labels[left[0]] = cluster
        edge, left = left[:1], left[1:]
        while len(edge) and len(left):
            now, edge = edge[:rows], edge[rows:]
            apart = lengths[now, None] + lengths[left] - 2 * (x[now] @ x[left].T)
            near = (apart <= eps**2 * (1 + 1e-12)).any(0)
            labels[left[near]] = cluster
            edge, left = np.concatenate([edge, left[near]]), left[~near]
    found = np.full(len(cores), NOISE, np.int32)
    found[cores] = labels
    return found


def _sklearn_hdbscan(x: NDArray[Any], min_cluster_size: int, min_samples: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    # kd_tree keeps no matrix of all distances, which brute force does
    method = HDBSCAN(min_cluster_size=min_cluster_size, min_samples=min_samples, algorithm="kd_tree", copy=True)
    return noise(method.fit_predict(x))


def _cuml(name: str) -> Any:
    try:
        return getattr(importlib.import_module("cuml"), name)
    except ImportError:
        raise OptionError(
            "backend cuml: cuML is not installed. On a machine with an NVIDIA GPU pip install cuml-cu12 as the RAPIDS "
            "guide says, or choose backend sklearn"
        ) from None


def _cuml_kmeans(x: NDArray[Any], k: int, seed: int, restarts: int, weights: Weights) -> NDArray[Any]:
    method = _cuml("KMeans")(n_clusters=k, n_init=restarts, random_state=seed, init="k-means++", output_type="numpy")
    return np.asarray(method.fit(x, sample_weight=weights).cluster_centers_)


def _cuml_dbscan(x: NDArray[Any], eps: float, min_samples: int, cores: NDArray[np.bool_]) -> Labels:
    method = _cuml("DBSCAN")(eps=eps, min_samples=min_samples, output_type="numpy")
    found = noise(method.fit_predict(x))
    return np.where(cores, found, np.int32(NOISE))


def _cuml_hdbscan(x: NDArray[Any], min_cluster_size: int, min_samples: int) -> Labels:
    method = _cuml("HDBSCAN")(min_cluster_size=min_cluster_size, min_samples=min_samples, output_type="numpy")
    return noise(method.fit_predict(x))


BACKENDS: dict[str, dict[str, Callable[..., Any]]] = {
    "sklearn": {"kmeans": _sklearn_kmeans, "dbscan": _sklearn_dbscan, "hdbscan": _sklearn_hdbscan},
    "cuml": {"kmeans": _cuml_kmeans, "dbscan": _cuml_dbscan, "hdbscan": _cuml_hdbscan},
}


def backend(name: str) -> dict[str, Callable[..., Any]]:
    """The methods of a backend; asks for its library at once, not after an hour of reading."""
    if name not in BACKENDS:
        raise OptionError(f"backend {name!r}: choose one of {', '.join(BACKENDS)}")
    if name == "cuml":
        _cuml("KMeans")
    return BACKENDS[name]
