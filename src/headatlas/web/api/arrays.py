"""Arrays as buffers hold them: u16 values, little-endian, as `encoding` defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.web.api.encoding import FULL, MISSING, NOISE, TOP, UNKNOWN, UNPLACED
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.base import PositionScale

U16 = NDArray[np.uint16]
DTYPE = "<u2"


def attention(maps: NDArray[Any]) -> U16:
    """Attention weights as square roots, which keeps the digits of small weights; NaN becomes 0.

    >>> attention(np.array([0, 0.25, 1, np.nan]))
    array([    0, 32768, 65535,     0], dtype=uint16)
    """
    roots = np.sqrt(np.clip(np.nan_to_num(maps.astype(np.float32)), 0, 1))
    return np.rint(roots * np.float32(FULL)).astype(DTYPE)


def halves(values: NDArray[Any]) -> U16:
    """Numbers as 16-bit floating point numbers, as vectors are stored.

    >>> halves(np.array([0, 1, -2, 65504, np.nan]))
    array([    0, 15360, 49152, 31743, 32256], dtype=uint16)
    """
    with np.errstate(over="ignore"):
        return values.astype("<f2").view(DTYPE)


def amounts(values: NDArray[Any], low: float, high: float) -> U16:
    """Numbers between `low` and `high`.

    >>> amounts(np.array([2.0, 3.0, 4.0, np.nan]), 2, 4)
    array([    0, 32767, 65534, 65535], dtype=uint16)
    """
    encoded = np.full(values.shape, UNKNOWN, DTYPE)
    finite = np.isfinite(values)
    scale = TOP / (high - low) if high > low else 0.0
    encoded[finite] = np.rint((np.clip(values[finite].astype(np.float64), low, high) - low) * scale)
    return encoded


def labels(clusters: NDArray[Any]) -> U16:
    """Labels of maps: clusters, noise and maps that do not exist.

    >>> labels(np.array([3, -1, -2]))
    array([    3, 65535, 65534], dtype=uint16)
    """
    if clusters.size and clusters.max() >= MISSING:
        raise RequestError(422, f"This clustering has more than {MISSING:,} clusters, which is too many to show.")
    encoded = np.where(clusters == schema.NOISE, NOISE, np.where(clusters == schema.MISSING, MISSING, clusters))
    return encoded.astype(DTYPE)


def positions(points: NDArray[Any]) -> U16:
    """Points (map, 2) scaled to the plane, both axes by the same factor and centered.

    >>> positions(np.array([[0.0, 0.0], [2.0, 1.0], [np.nan, np.nan]])).tolist()
    [[0, 16384], [65534, 49150], [65535, 65535]]
    """
    finite = np.isfinite(points).all(1)
    encoded = np.full(points.shape, UNPLACED, DTYPE)
    if finite.any():
        placed = points[finite].astype(np.float64)
        low, high = placed.min(0), placed.max(0)
        widest = float((high - low).max())
        scale = TOP / widest if widest > 0 else 0.0
        encoded[finite] = np.clip(np.rint((placed - (low + high) / 2) * scale + TOP / 2), 0, TOP)
    return encoded


def position_scale(low: NDArray[Any], high: NDArray[Any]) -> PositionScale:
    """The inverse of `positions` for points between two corners.

    >>> position_scale(np.array([0.0, 0.0]), np.array([2.0, 1.0])).y
    0.5
    """
    x, y = (low + high) / 2
    return PositionScale(x=float(x), y=float(y), step=float((high - low).max()) / TOP)
