"""Libraries that compute the clusters: scikit-learn on the CPU, or cuML on a GPU. Methods pass and get plain arrays."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.schema import NOISE
from headatlas.errors import OptionError
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.fit import Labels


@contextmanager
def one_core() -> Iterator[None]:
    """Compute on one core, without the warning about fewer distinct maps than k: methods give their own."""
    from sklearn.exceptions import ConvergenceWarning

    with single_thread("sklearn"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def cuml(name: str) -> Any:
    """A class of cuML."""
    try:
        return getattr(importlib.import_module("cuml"), name)
    except ImportError:
        raise OptionError(
            "backend cuml: cuML is not installed. On a machine with an NVIDIA GPU pip install cuml-cu12 as the RAPIDS "
            "guide says, or choose backend sklearn"
        ) from None


def noise(labels: NDArray[Any]) -> Labels:
    """Labels with noise as -1: backends use any negative number, or one that no cluster can have.

    >>> noise(np.array([0, 1, -3, 2147483647])).tolist()
    [0, 1, -1, -1]
    """
    wide = np.asarray(labels).astype(np.int64)
    return np.where((wide < 0) | (wide >= len(wide)), NOISE, wide).astype(np.int32)


def core_distances(x: NDArray[Any], min_samples: int) -> NDArray[np.float64]:
    """Distance of each point to its `min_samples`-th neighbor, itself counted as the first, as scikit-learn counts."""
    from sklearn.neighbors import NearestNeighbors

    x = x.astype(np.float64)
    search = NearestNeighbors(n_neighbors=min(min_samples, len(x)), algorithm="brute").fit(x)
    distances: NDArray[np.float64] = search.kneighbors(x)[0][:, -1]
    return distances
