"""Jensen–Shannon divergences of all pairs of heads, row by row, in vector lanes.

With p and q two rows of attention, and S(p, q) = Σ (p + q) log₂ (p + q), JS = ½ ln 2 (½ S(p, p) + ½ S(q, q) − S(p, q)).
So one logarithm per pair and key is enough. The rows of all heads for one query are turned so that heads are adjacent:
a lane holds a head, and sums over keys stay in registers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16  # heads in a vector
TILE = 4  # heads that are paired with those of a vector at once
ONE_BITS, MANTISSA = 0x3F800000, 0x7FFFFF  # the bits of 1, and those of the mantissa
UNIT = float(1 << 23)  # the logarithm is computed in units of the last bit of the mantissa
# (log₂(1 + t) − t) / (t (1 − t)) for t from 0 to 1, fitted so that the largest error of ln is least: 2.2e-7
FIT = (0.44266665, -0.2778855, 0.1954016, -0.12958798, 0.06318008, -0.015146264)

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}  # one compiled body only

FLOATS = ir.VectorType(ir.FloatType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(32), LANES)
FUSED = ("contract",)


def _every(kind: ir.VectorType, value: float) -> ir.Constant:
    return ir.Constant(kind, [value] * LANES)


def _add_x_log_x(builder: Any, x: Any, total: Any) -> Any:
    """`total` + x log₂ x · UNIT for x ≥ 0; 0 at 0.

    The bits of a float, read as a number, are its exponent plus its mantissa − 1: log₂ x but for a small correction.
    """
    bits = builder.bitcast(x, INTEGERS)
    rough = builder.sitofp(builder.sub(bits, _every(INTEGERS, ONE_BITS)), FLOATS)
    mantissa = builder.or_(builder.and_(bits, _every(INTEGERS, MANTISSA)), _every(INTEGERS, ONE_BITS))
    t = builder.fsub(builder.bitcast(mantissa, FLOATS), _every(FLOATS, 1.0))
    series = _every(FLOATS, FIT[-1] * UNIT)
    for coefficient in FIT[-2::-1]:
        series = builder.fadd(builder.fmul(series, t, flags=FUSED), _every(FLOATS, coefficient * UNIT), flags=FUSED)
    arch = builder.fsub(t, builder.fmul(t, t, flags=FUSED), flags=FUSED)
    log = builder.fadd(builder.fmul(series, arch, flags=FUSED), rough, flags=FUSED)
    return builder.fadd(builder.fmul(x, log, flags=FUSED), total, flags=FUSED)


def _spread(builder: Any, number: Any) -> Any:
    """A number in all lanes."""
    first = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, ir.Constant(FLOATS, ir.Undefined), ir.Constant(INTEGERS, [0] * LANES))


@intrinsic
def _add_tile(context: Any, rows: Any, keys: Any, first: Any, second: Any, sums: Any) -> Any:
    """Write Σ over keys of x log₂ x · UNIT to sums (TILE, LANES), x = the rows of TILE heads + those of LANES heads.

    `rows` is (key, head); the heads are those from `first` on, and from `second` on.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> None:
        block, out = (
            target.make_array(signature.args[place])(target, builder, arguments[place]).data for place in (0, 4)
        )
        heads = builder.extract_value(target.make_array(signature.args[0])(target, builder, arguments[0]).shape, 1)
        totals = [cgutils.alloca_once_value(builder, _every(FLOATS, 0.0)) for _ in range(TILE)]
        with cgutils.for_range(builder, arguments[1]) as loop:
            row = builder.gep(block, [builder.mul(loop.index, heads)])
            lanes = builder.bitcast(builder.gep(row, [arguments[3]]), FLOATS.as_pointer())
            others = builder.load(lanes, align=4)
            for place, total in enumerate(totals):
                at = builder.add(arguments[2], ir.IntType(64)(place))
                x = builder.fadd(_spread(builder, builder.load(builder.gep(row, [at]))), others)
                builder.store(_add_x_log_x(builder, x, builder.load(total)), total)
        vectors = builder.bitcast(out, FLOATS.as_pointer())
        for place, total in enumerate(totals):
            builder.store(builder.load(total), builder.gep(vectors, [ir.IntType(64)(place)]), align=4)

    return types.void(rows, types.int64, types.int64, types.int64, sums), generate


@njit(**PART)
def _turn(maps: Any, query: Any, keys: Any, rows: Any) -> None:
    """The rows of all heads for one query, heads adjacent; there are none after the last head."""
    for a in range(maps.shape[0]):
        for j in range(keys):
            rows[j, a] = maps[a, query, j]


@njit(**HOW)
def _add_rows(maps: Any, causal: bool, sums: Any) -> None:
    """Add S of all pairs of heads, second ≤ first, summed over the rows of maps (head, query, key), to sums."""
    heads, queries, keys = maps.shape
    rows = np.zeros((keys, sums.shape[1]), np.float32)
    tile = np.empty((TILE, LANES), np.float32)
    for i in range(queries):
        stop = i + 1 if causal else keys
        _turn(maps, i, stop, rows)
        for a in range(0, heads, TILE):
            for b in range(0, a + TILE, LANES):
                _add_tile(rows, stop, a, b, tile)
                for place in range(TILE):
                    for lane in range(LANES):
                        sums[a + place, b + lane] += tile[place, lane]


def divergence_sums(maps: NDArray[np.float32], *, causal: bool = False) -> NDArray[np.float64]:
    """Divergences of all pairs of heads, summed over the rows of maps (head, query, key): (head, head), symmetric.

    In nats: 0 if two rows are equal, ln 2 if they have no key in common. `causal` skips keys after the query.

    >>> maps = np.array([[[1, 0], [0, 1]], [[1, 0], [1, 0]]], np.float32)
    >>> divergence_sums(maps).round(6).tolist()
    [[0.0, 0.693147], [0.693147, 0.0]]
    """
    heads = len(maps)
    padded = -(-heads // LANES) * LANES
    sums = np.zeros((padded, padded))
    _add_rows(np.ascontiguousarray(maps, np.float32), causal, sums)
    lower = np.tril(sums[:heads, :heads])
    half_diagonal = np.diagonal(lower) / 2
    divergence = (half_diagonal[:, None] + half_diagonal - lower) * (math.log(2) / 2 / UNIT)
    divergence = np.tril(divergence, -1).clip(0)
    return divergence + divergence.T
