"""Arrays as the page reads them: little-endian u16. See `payloads.Encoding`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Frame

Words = NDArray[np.uint16]
TOP = 65534  # the largest amount; 65535 says that there is none
NONE = 65535


def attention(maps: NDArray[Any]) -> Words:
    """Weights as square roots, so that faint ones keep their digits; what is NaN is 0.

    >>> attention(np.array([0, 0.25, 1, np.nan]))
    array([    0, 32768, 65535,     0], dtype=uint16)
    """
    roots = np.sqrt(np.clip(np.nan_to_num(maps.astype(np.float32)), 0, 1))
    return np.rint(roots * np.float32(65535)).astype("<u2")


def amounts(values: NDArray[Any], low: float, high: float) -> Words:
    """Numbers between `low` and `high`.

    >>> amounts(np.array([2.0, 3.0, 4.0, np.nan]), 2, 4)
    array([    0, 32767, 65534, 65535], dtype=uint16)
    """
    found = np.full(values.shape, NONE, "<u2")
    known = np.isfinite(values)
    scale = TOP / (high - low) if high > low else 0.0
    found[known] = np.rint((np.clip(values[known].astype(np.float64), low, high) - low) * scale)
    return found


def labels(found: NDArray[Any]) -> Words:
    """Clusters; 65535 noise, 65534 no such map.

    >>> labels(np.array([3, -1, -2]))
    array([    3, 65535, 65534], dtype=uint16)
    """
    if found.size and found.max() >= TOP:
        raise Problem(422, f"this clustering has more than {TOP:,} clusters: too many to show")
    coded = np.where(found == schema.NOISE, NONE, np.where(found == schema.MISSING, TOP, found))
    return coded.astype("<u2")


def positions(points: NDArray[Any]) -> Words:
    """Points (map, 2) in a square, both axes by one factor and centred; 65535 for what has no place.

    >>> positions(np.array([[0.0, 0.0], [2.0, 1.0], [np.nan, np.nan]])).tolist()
    [[0, 16384], [65534, 49150], [65535, 65535]]
    """
    known = np.isfinite(points).all(1)
    found = np.full(points.shape, NONE, "<u2")
    if known.any():
        inside = points[known].astype(np.float64)
        low, high = inside.min(0), inside.max(0)
        widest = float((high - low).max())
        scale = TOP / widest if widest > 0 else 0.0
        found[known] = np.clip(np.rint((inside - (low + high) / 2) * scale + TOP / 2), 0, TOP)
    return found


def frame(low: NDArray[Any], high: NDArray[Any]) -> Frame:
    """What `positions` makes of points between two corners, the other way round.

    >>> frame(np.array([0.0, 0.0]), np.array([2.0, 1.0])).y
    0.5
    """
    x, y = (low + high) / 2
    return Frame(x=float(x), y=float(y), step=float((high - low).max()) / TOP)
