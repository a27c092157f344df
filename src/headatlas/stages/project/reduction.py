"""Principal components of the sample: what every projection begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError

Vectors = NDArray[np.float32]

DIMENSIONS = 50


@dataclass(frozen=True)
class Reduction:
    """Principal components of a sample, the greatest first."""

    mean: Vectors
    axes: Vectors  # (feature, component)
    shares: NDArray[np.float64]  # of the variance, each component

    def __call__(self, vectors: NDArray[Any]) -> Vectors:
        """The components of these vectors."""
        return np.asarray((vectors.astype(np.float32) - self.mean) @ self.axes, np.float32)


def reduction(sample: NDArray[Any], most: int = DIMENSIONS) -> Reduction:
    """Exact principal components, at most `most` of them; each axis points to where its largest weight is positive."""
    from sklearn.decomposition import PCA

    if (sample == sample[0]).all():
        raise DataError("all maps have the same features: nothing to lay out. Choose other features with --of")
    count, width = sample.shape
    wanted = min(most, width, count)
    model = PCA(wanted, svd_solver="covariance_eigh" if width <= count else "full").fit(sample.astype(np.float64))
    axes = model.components_.T
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) < 0, -1, 1)
    shares = np.nan_to_num(model.explained_variance_ratio_)
    return Reduction(model.mean_.astype(np.float32), axes.astype(np.float32), shares)


def enough(count: int) -> None:
    """Refuse too few maps."""
    if count < 4:
        raise DataError(f"a projection needs at least 4 maps, and there are {count}. Collect more examples")
