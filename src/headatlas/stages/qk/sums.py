"""Weighted sums over all pairs of a query and a key, in one pass."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
LOOSE = {"contract", "reassoc", "nsz", "arcp"}  # sums may be reordered, so that they are vectorized


@njit(fastmath=LOOSE, **HOW)
def weighted_sums(
    product: Any, query: Any, key: Any, scale: float, soft: float, distance_from: float, product_from: float
) -> Any:
    """Sums of w, w d, w d², w p, w p² and w d p over all pairs, with weights w = 1 / (distance² + soft).

    Distances d and products p are counted from given values near their means, so that no digits of variances are lost.
    """
    w0, w1, w2, p1, p2, both = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(product.shape[0]):
        length = query[i, 0] / scale**2
        for j in range(product.shape[1]):
            squared = max(length + key[j] * scale**2 - 2 * product[i, j], 0.0)
            weight = 1 / (squared + soft)
            d, p = math.sqrt(squared) - distance_from, product[i, j] - product_from
            w0 += weight
            w1 += weight * d
            w2 += weight * d * d
            p1 += weight * p
            p2 += weight * p * p
            both += weight * d * p
    return w0, w1, w2, p1, p2, both
