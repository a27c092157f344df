"""Principal axes of a sample of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.threads import single_thread

ROWS = 8192  # at a time; fixed, so that sums do not depend on the blocks of an array


@dataclass(frozen=True)
class PrincipalAxes:
    """The principal axes of a sample, largest variance first; each points to where its largest entry is positive."""

    mean: NDArray[np.float32]  # (feature,)
    axes: NDArray[np.float32]  # (feature, axis)
    shares: NDArray[np.float64]  # of the variance of the sample, (axis,)

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Coordinates (row, axis) of vectors (row, feature)."""
        coordinates = np.empty((len(values), self.axes.shape[1]), np.float32)
        for start in range(0, len(values), ROWS):
            part = values[start : start + ROWS].astype(np.float32)
            coordinates[start : start + ROWS] = (part - self.mean) @ self.axes
        return coordinates

    def first(self, count: int) -> PrincipalAxes:
        """The first `count` axes."""
        return PrincipalAxes(self.mean, np.ascontiguousarray(self.axes[:, :count]), self.shares[:count])


def fit_pca(values: NDArray[Any], *, components: int | None = None, variance: float | None = None) -> PrincipalAxes:
    """Principal axes of vectors (row, feature), computed exactly in float64 by scikit-learn.

    >>> line = fit_pca(np.array([[0.0, 1.0], [3.0, 1.0], [6.0, 1.0]]), variance=0.95)
    >>> line.axes.tolist(), line.apply(np.array([[5.0, 1.0]])).tolist()
    ([[1.0], [0.0]], [[2.0]])

    Parameters
    ----------
    values : array (row, feature)
        One vector per row, all of them finite.
    components : int, optional
        The number of axes, at most; as many as there are rows or features if not given.
    variance : float, optional
        Stop at the fewest axes that together keep this share of the variance.

    Returns
    -------
    space : PrincipalAxes
        Mean, axes, and the share of the variance along each axis. If all rows are equal, the axes are arbitrary.
    """
    from sklearn.decomposition import PCA

    rows, width = values.shape
    count = min(rows, width, components or width)
    # where there are more features than rows, their covariance is larger than the data
    pca = PCA(count, svd_solver="covariance_eigh" if width <= rows else "full")
    with single_thread(), np.errstate(invalid="ignore"):  # without any variance, shares are 0 / 0
        pca.fit(values.astype(np.float64))
    axes = pca.components_.T
    largest = np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0)
    axes = np.ascontiguousarray(np.where(largest < 0, -axes, axes), np.float32)
    fitted = PrincipalAxes(pca.mean_.astype(np.float32), axes, np.nan_to_num(pca.explained_variance_ratio_))
    if variance is None:
        return fitted
    return fitted.first(int(np.searchsorted(np.cumsum(fitted.shares), variance - 1e-12)) + 1)
