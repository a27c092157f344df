"""Pure functions on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def weighted_mean(values: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over the first axis.

    >>> weighted_mean(np.array([[1.0, 2.0], [4.0, 5.0]]), np.array([2, 1]))
    array([2., 3.])
    """
    return np.tensordot(weights / weights.sum(), values.astype(np.float64), 1)
