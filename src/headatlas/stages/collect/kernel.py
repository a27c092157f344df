"""Softmax and all reductions of a map in one pass over each row, while the row is in the first-level cache.

A row of scores becomes a row of attention in place; its entropy, distances and moments are summed, and it is added to
the pooled rows. Nothing is computed twice and no logarithm is taken per element: with s the scores minus their
largest, entropy = ln Σeˢ − Σ s·eˢ / Σeˢ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from headatlas.stages.collect import distances

F = np.float32
ZERO, ONE, HALF = F(0), F(1), F(0.5)
LOWEST = F(-87)  # e**-87 is close to the smallest normal float32; masked scores are clipped to it
LOG2E, LN2_HIGH, LN2_LOW = F(1.4426950408889634), F(0.693359375), F(-2.12194440e-4)
E0, E1, E2, E3, E4, E5 = F(1.9875691e-4), F(1.3981999e-3), F(8.3334519e-3), F(4.1665796e-2), F(1.6666666e-1), F(0.5)

# places in the vector of sums that `reduce_heads` fills; offsets, relations, marks, separators and the sums of
# `distances` follow in this order
ENTROPY, ENTROPY_RELATIVE, LARGEST, DISTANCE, SIGNED, DEVIATION = range(6)
OFFSETS = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
FIRST_OFFSET = 6
FIRST_RELATION = FIRST_OFFSET + len(OFFSETS)
REACH = 4

LOOSE = {"contract", "reassoc", "nsz"}  # sums may be reordered, so that they are vectorized; NaN stays NaN
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
# Always inlined: a helper that stays a function has two compiled bodies, its own and the one inside its caller's cached
# code, which sum in different orders; which of them runs would depend on whether this process compiled or loaded it.
PART: dict[str, Any] = {"error_model": "numpy", "forceinline": True}


@intrinsic
def _power_of_two(context: Any, exponent: Any) -> Any:
    """2 ** exponent for a whole float32, by its bits; a plain call would prevent vectorization."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = target.get_value_type(types.int32)
        shifted = builder.shl(builder.add(builder.fptosi(arguments[0], integer), integer(127)), integer(23))
        return builder.bitcast(shifted, target.get_value_type(types.float32))

    return types.float32(types.float32), generate


@njit(inline="always", fastmath={"contract"})
def _exp(x: Any) -> Any:
    """e ** x for -87 <= x <= 0: split off a power of two, then a polynomial (relative error 1e-7)."""
    power = np.floor(x * LOG2E + HALF)
    rest = x - power * LN2_HIGH - power * LN2_LOW
    series = ((((E0 * rest + E1) * rest + E2) * rest + E3) * rest + E4) * rest + E5
    return (series * rest * rest + rest + ONE) * _power_of_two(power)


@njit(fastmath=LOOSE | {"nnan"}, **PART)
def _largest(row: Any) -> Any:
    top = row[0]
    for j in range(row.shape[0]):
        top = row[j] if row[j] > top else top
    return top


@njit(fastmath=LOOSE, **PART)
def _softmax(row: Any) -> Any:
    """Scores to attention in place; returns the entropy and the largest weight."""
    top = _largest(row)
    total, cross = ZERO, ZERO
    for j in range(row.shape[0]):
        score = row[j] - top
        score = score if score > LOWEST else LOWEST
        weight = _exp(score)
        total += weight
        cross += weight * score
        row[j] = weight
    share = ONE / total
    for j in range(row.shape[0]):
        row[j] *= share
    if not math.isfinite(top):
        return math.nan, math.nan
    return math.log(total) - cross * share, share


@njit(fastmath=LOOSE, **PART)
def _along(row: Any, keys: Any, position: Any) -> Any:
    """Mean distance, mean signed distance and deviation of the key position, for keys on a line."""
    mean, distance = ZERO, ZERO
    for j in range(row.shape[0]):
        step = keys[j] - position
        mean += row[j] * step
        distance += row[j] * abs(step)
    center, spread = position + mean, ZERO
    for j in range(row.shape[0]):
        step = keys[j] - center
        spread += row[j] * step * step
    return distance, mean, math.sqrt(spread)


@njit(fastmath=LOOSE, **PART)
def _across(row: Any, places: Any, position: Any) -> Any:
    """Mean distance on the patch grid over the mass that falls on it; places are (3, key): row, column, on the grid."""
    distance, mass = ZERO, ZERO
    for j in range(row.shape[0]):
        down, right = places[0, j] - position[0], places[1, j] - position[1]
        weight = row[j] * places[2, j]
        mass += weight
        distance += weight * math.sqrt(down * down + right * right)
    return distance, mass


@njit(fastmath=LOOSE, **PART)
def _add_pooled(row: Any, bins: Any, first: Any, weights: Any) -> None:
    for a in range(weights.shape[0]):
        weight = weights[a]
        if weight > ZERO:
            line = bins[first + a]
            for j in range(row.shape[0]):
                line[j] += weight * row[j]


@njit(fastmath=LOOSE, **PART)
def _pool_columns(bins: Any, first: Any, weights: Any, pooled: Any) -> None:
    for a in range(bins.shape[0]):
        for b in range(first.shape[0]):
            total = ZERO
            for j in range(weights.shape[1]):
                if first[b] + j < bins.shape[1]:
                    total += weights[b, j] * bins[a, first[b] + j]
            pooled[a, b] = total


@njit(**PART)
def _add_offsets(out: Any, row: Any, i: int) -> None:
    """Add the weights at the nearest offsets of query i."""
    for o in range(2 * REACH + 1):
        if 0 <= i + o - REACH < row.shape[0]:
            out[FIRST_OFFSET + o] += row[i + o - REACH]


@njit(**PART)
def _add_relations(out: Any, beyond: Any, row: Any, inner: Any, starts: Any, related: Any, i: int) -> None:
    """Add the mass on the keys that belong to query i, in all, and on those that are not special."""
    for r in range(starts.shape[0]):
        total, counted = 0.0, 0.0
        for at in range(starts[r, i], starts[r, i + 1]):
            weight = row[related[at]]
            total += weight
            counted += weight * inner[related[at]]
        out[r] += total
        if r < beyond.shape[0]:  # marks come after the relations
            beyond[r] += counted


@njit(**HOW)
def reduce_heads(
    scores: Any,  # (head, query, key) float32: scores on entry, attention on return
    reach: Any,  # (2, query) first allowed key, and one past the last
    allowed: Any,  # (query,) number of allowed keys
    layout: Any,  # see layout.Layout
    pooled: Any,  # (head, r, r) out
    sums: Any,  # (head, statistic) out
) -> None:
    """Turn scores of some heads of one example into attention; fill pooled maps and sums."""
    heads, queries, keys = scores.shape
    bins = np.zeros((pooled.shape[1], keys), np.float32)
    profile = np.zeros(queries + keys - 1, np.float32)  # attention by distance, from 1 - queries to keys - 1
    squares = np.zeros(keys, np.float32)  # of the attention to each key
    inner = layout.inner
    rows, columns, places = layout.rows, layout.columns, layout.places
    starts, related = layout.relations
    beyond = np.zeros(layout.pairs.shape[0] - 1)
    for h in range(heads):
        bins[:] = ZERO
        profile[:] = ZERO
        beyond[:] = 0.0
        squares[:] = ZERO
        out = sums[h]
        out[:] = 0.0
        spread_queries, placed = 0, 0
        for i in range(queries):
            low, high = reach[0, i], reach[1, i]
            scores[h, i, :low] = ZERO
            scores[h, i, high:] = ZERO
            row = scores[h, i, low:high]
            entropy, top = _softmax(row)
            _add_pooled(row, bins[:, low:high], rows[0][i], rows[1][i])
            by_distance = profile[low - i + queries - 1 : high - i + queries - 1]
            distances.add_row(row, inner[low:high], by_distance, squares[low:high])
            out[ENTROPY] += entropy
            out[LARGEST] += top
            if allowed[i] > 1:
                out[ENTROPY_RELATIVE] += entropy / math.log(allowed[i])
                spread_queries += 1
            if layout.grid:
                distance, mass = _across(row, places[0][:, low:high], places[1][:, i])
                if places[1][2, i] > ZERO and mass > 1e-12:
                    out[DISTANCE] += distance / mass
                    placed += 1
            else:
                distance, mean, deviation = _along(row, places[0][1, low:high], places[1][1, i])
                out[DISTANCE] += distance
                out[SIGNED] += mean
                out[DEVIATION] += deviation
                placed += 1
            full = scores[h, i]
            if layout.square:
                _add_offsets(out, full, i)
            _add_relations(out[FIRST_RELATION:], beyond, full, inner, starts, related, i)
        _finish(out, queries, spread_queries, placed, starts.shape[0])
        marks = out[FIRST_RELATION + starts.shape[0] :]
        _sum_marks(marks, bins, scores[h], layout.marks, layout.separators)
        rest = marks[layout.marks[0].shape[0] + 1 :]
        distances.summarize(rest, bins, squares, profile, beyond, layout, queries)
        _pool_columns(bins, columns[0], columns[1], pooled[h])


@njit(**PART)
def _finish(out: Any, queries: int, spread_queries: int, placed: int, relations: int) -> None:
    """Turn sums into means; NaN where a statistic is undefined for every query."""
    out[ENTROPY] /= queries
    out[ENTROPY_RELATIVE] = out[ENTROPY_RELATIVE] / spread_queries if spread_queries else math.nan
    out[LARGEST] /= queries
    for place in (DISTANCE, SIGNED, DEVIATION):
        out[place] = out[place] / placed if placed else math.nan
    for o in range(2 * REACH + 1):
        pairs = queries - abs(o - REACH)
        out[FIRST_OFFSET + o] = out[FIRST_OFFSET + o] / pairs if pairs > 0 else math.nan
    for r in range(relations):
        out[FIRST_RELATION + r] /= queries


@njit(**PART)
def _sum_marks(out: Any, bins: Any, attention: Any, marks: Any, separators: Any) -> None:
    """Mass on marked keys from the pooled rows, whose mean over bins is the mean over queries; then to separators."""
    starts, marked = marks
    resolution, queries = bins.shape[0], attention.shape[0]
    for m in range(starts.shape[0] - 1):
        total = 0.0
        for at in range(starts[m], starts[m + 1]):
            for a in range(resolution):
                total += bins[a, marked[at]]
        out[m] = total / resolution
    from_queries, to_keys = separators
    from_separators, from_all = 0.0, 0.0
    for j in to_keys:
        for a in range(resolution):
            from_all += bins[a, j]
        for i in from_queries:
            from_separators += attention[i, j]
    from_all = from_all / resolution * queries
    count, others = len(from_queries), queries - len(from_queries)
    last = starts.shape[0] - 1
    out[last] = from_separators / count if count and len(to_keys) else math.nan
    out[last + 1] = (from_all - from_separators) / others if others and len(to_keys) else math.nan


@njit(**HOW)
def equal_pairs(query_ids: Any, key_ids: Any, induction: bool, causal: bool, cross: bool) -> Any:
    """Pairs to sum: keys with the query's id or, for induction, keys that follow a token with the query's id."""
    queries, keys = len(query_ids), len(key_ids)
    starts = np.zeros(queries + 1, np.int64)
    pairs = np.empty(64, np.int64)
    count = 0
    for i in range(queries):
        for j in range(1 if induction else 0, keys):
            if key_ids[j - 1 if induction else j] != query_ids[i]:
                continue
            if not cross and (j - 1 == i or (causal and j > i) if induction else j == i):
                continue
            if count == len(pairs):
                pairs = np.concatenate((pairs, np.empty(count, np.int64)))
            pairs[count] = j
            count += 1
        starts[i + 1] = count
    return starts, pairs[:count].copy()
