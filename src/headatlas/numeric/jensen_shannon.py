"""Jensen–Shannon divergences of all pairs of heads, row by row, in vector lanes.

With p and q two rows of attention, JS = ln 2 + ½ Σ (p ln p + q ln q − (p + q) ln (p + q)). So one logarithm per pair
and key is enough, and the rows of all heads for one query stay in the cache while all pairs are taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

F = np.float32
ONE, HALF = F(1), F(0.5)
LN2 = F(math.log(2))
ROOT_HALF = np.int32(0x3F3504F3)  # the bits of √½: mantissas are taken between √½ and √2
# ln(1 + t) / t between √½ and √2, a Chebyshev fit: error of the logarithm 4e-7
L0, L1, L2, L3 = F(1.00000095), F(-0.50001144), F(0.33314675), F(-0.24908289)
L4, L5, L6 = F(0.2049176), F(-0.18680751), F(0.11931054)

LOOSE = {"contract", "reassoc", "nsz"}  # sums may be reordered, so that they are vectorized
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}  # one compiled body only


@intrinsic
def _bits(context: Any, value: Any) -> Any:
    """The bits of a float32 as an int32."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target.get_value_type(types.int32))

    return types.int32(types.float32), generate


@intrinsic
def _from_bits(context: Any, value: Any) -> Any:
    """The float32 with these bits."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target.get_value_type(types.float32))

    return types.float32(types.int32), generate


@njit(inline="always", fastmath={"contract"})
def _x_log_x(x: Any) -> Any:
    """x ln x for x ≥ 0; 0 at 0."""
    bits = _bits(x)
    exponent = np.int32((bits - ROOT_HALF) >> np.int32(23))
    t = _from_bits(np.int32(bits - (exponent << np.int32(23)))) - ONE
    t2 = t * t  # in pairs of terms, which do not wait for one another
    series = (L0 + L1 * t) + t2 * ((L2 + L3 * t) + t2 * ((L4 + L5 * t) + t2 * L6))
    return x * (series * t + F(exponent) * LN2)


@njit(fastmath=LOOSE, **PART)
def _own(row: Any) -> Any:
    total = F(0)
    for j in range(row.shape[0]):
        total += _x_log_x(row[j])
    return total


@njit(fastmath=LOOSE, **PART)
def _shared(first: Any, second: Any) -> Any:
    total = F(0)
    for j in range(first.shape[0]):
        total += _x_log_x(first[j] + second[j])
    return total


@njit(**HOW)
def _add_rows(maps: Any, causal: bool, sums: Any) -> None:
    """Add the divergences of all pairs of heads, summed over the rows of maps (query, head, key)."""
    queries, heads, keys = maps.shape
    own = np.empty(heads, np.float32)
    for i in range(queries):
        stop = i + 1 if causal else keys
        for a in range(heads):
            own[a] = _own(maps[i, a, :stop])
        for a in range(heads):
            row = maps[i, a, :stop]
            for b in range(a):
                both = own[a] + own[b] - _shared(row, maps[i, b, :stop])
                sums[a, b] += max(math.log(2) + 0.5 * both, 0.0)


def divergence_sums(maps: NDArray[np.float32], *, causal: bool = False) -> NDArray[np.float64]:
    """Divergences of all pairs of heads, summed over the rows of maps (head, query, key): (head, head), symmetric.

    In nats: 0 if two rows are equal, ln 2 if they have no key in common. `causal` skips keys after the query.

    >>> maps = np.array([[[1, 0], [0, 1]], [[1, 0], [1, 0]]], np.float32)
    >>> divergence_sums(maps).round(6).tolist()
    [[0.0, 0.693147], [0.693147, 0.0]]
    """
    heads = len(maps)
    sums = np.zeros((heads, heads))
    _add_rows(np.ascontiguousarray(maps.transpose(1, 0, 2), np.float32), causal, sums)
    return sums + sums.T
