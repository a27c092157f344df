"""Principal components of the sample, the first step of every projection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import DataError
from headatlas.numeric.pca import PrincipalAxes, fit_pca

Vectors = NDArray[np.float32]

DIMENSIONS = 50


def fit_space(sample: NDArray[Any]) -> PrincipalAxes:
    """The first 50 principal axes of a sample."""
    if (sample == sample[0]).all():
        raise DataError("all maps have the same features: nothing to lay out. Choose other features with --of")
    return fit_pca(sample, components=DIMENSIONS)


def enough(count: int) -> None:
    """Refuse too few maps."""
    if count < 4:
        raise DataError(f"a projection needs at least 4 maps, and there are {count}. Collect more examples")
