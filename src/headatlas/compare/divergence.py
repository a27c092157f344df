"""How far the maps of a head moved: the Jensen–Shannon divergence of two maps, row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.numeric.metrics import jensen_shannon

Floats = NDArray[np.float64]


def shifts(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """Mean divergence (example, head) of the rows of maps (example, head, query, key), with logarithms to base 2.

    0 if all rows are equal, 1 if no row has a key in common with its counterpart; NaN for maps that do not exist.

    >>> maps = np.array([[[[1.0, 0.0], [0.5, 0.5]]]])
    >>> shifts(maps, maps).tolist(), shifts(maps, maps[..., ::-1]).tolist()
    ([[0.0]], [[0.5]])
    """
    result = np.empty(first.shape[:2])
    for example in range(len(first)):  # one at a time bounds the memory
        parallel.check()
        rows = [_normalized(maps[example]) for maps in (first, second)]
        result[example] = jensen_shannon(*rows).mean(-1) / math.log(2)
    return result


def _normalized(rows: NDArray[Any]) -> Floats:
    """Rows that sum to 1: float16 has rounded them."""
    exact = rows.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        normalized: Floats = exact / exact.sum(-1, keepdims=True)
    return normalized
