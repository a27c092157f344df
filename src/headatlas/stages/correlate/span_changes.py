"""Attention between spans, head by head, tested against every column: does it differ between the values?

The share of variance, its chance value, interval and p are those of `changes`, for one number in place of a vector.
Examples without one of the two spans do not count, and are not shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.chance import false_discovery_rates
from headatlas.sources import BetweenSpans
from headatlas.stages.correlate.changes import Change, Variation, change_of
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.design import Design, design
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.tables import REAL, TEXT, WHOLE, make_table
from headatlas.stages.correlate.variance import between_each
from headatlas.statistics import statistic
from headatlas.wording.thresholds import EXPLAINED, GROUPS, SIGNIFICANT

Array = NDArray[Any]
SLOTS = 256  # heads and statistics compared at a time
MEAN = pa.struct({"value": TEXT, "n": WHOLE, "mean": REAL})
SPAN_CHANGES = (
    {"layer": pa.int32(), "head": pa.int32(), "statistic": TEXT, "column": TEXT, "rank": pa.int32()}
    | dict.fromkeys(("eta2", "chance", "explained", "low", "high", "p", "q"), REAL)
    | {"n": WHOLE, "groups": WHOLE, "untested": TEXT, "means": pa.list_(MEAN)}
)


@dataclass(frozen=True)
class Measured:
    """A statistic of some heads on the same rows: those that have both spans."""

    rows: Array  # (row,)
    values: Array  # (row, slot)
    slots: list[tuple[int, int]]  # statistic and head of each


@dataclass(frozen=True)
class Compared:
    """A statistic of a head and a column: the test, and the mean for each value."""

    statistic: int
    change: Change
    means: list[dict[str, Any]]


def span_places(names: Sequence[str]) -> list[int]:
    """Where statistics between spans are among all.

    >>> span_places(["entropy", "span:user>user"])
    [1]
    """
    return [place for place, name in enumerate(names) if isinstance(statistic(name).source, BetweenSpans)]


def span_changes(
    values: Array,
    names: Sequence[str],
    maps: Coded,
    columns: Sequence[Column],
    plan: Callable[[Array, Column, int], Design],
    step: Callable[[int], None],
) -> pa.Table:
    """A row for each head, two kinds of spans and column; those that change first, the largest share first.

    `values` are (statistic, row, head); `plan` gives the design of a column, with its number, on some rows.
    """
    compared: list[Compared] = []
    for part in measured(values):
        for number, column in enumerate(columns):
            compared += compare(part, column, number, plan(part.rows, column, number))
        step(len(part.slots))
    rates = false_discovery_rates(np.array([_tested_p(item.change) for item in compared]))
    compared = [replace(item, change=replace(item.change, q=float(q))) for item, q in zip(compared, rates, strict=True)]
    return _table(compared, names, maps, columns)


def _tested_p(change: Change) -> float:
    return change.share.p if change.untested is None else float("nan")


def measured(values: Array) -> list[Measured]:
    """Statistics (statistic, row, head) by the rows on which they are known, a few at a time."""
    known = np.isfinite(values)
    by_rows: dict[bytes, list[tuple[int, int]]] = {}
    for place, head in np.ndindex(values.shape[0], values.shape[2]):
        by_rows.setdefault(known[place, :, head].tobytes(), []).append((place, head))
    parts = []
    for slots in by_rows.values():
        rows = np.flatnonzero(known[slots[0][0], :, slots[0][1]])
        for at in range(0, len(slots) if len(rows) else 0, SLOTS):
            some = slots[at : at + SLOTS]
            places, heads = np.array(some).T
            parts.append(Measured(rows, values[places, :, heads].T[rows].astype(np.float64), some))
    return parts


def compare(part: Measured, column: Column, number: int, plan: Design) -> list[Compared]:
    """Every slot of a part against a column."""
    known = part.values[plan.rows]
    x = centered_each(known)
    counts = np.bincount(plan.codes, minlength=plan.kinds)
    ones = np.ones((1, len(x)), np.float32)
    observed = between_each(x, plan.codes[None], ones, plan.kinds)[0]
    shuffled = between_each(x, plan.shuffled, ones, plan.kinds)
    total, drawn = (x**2).sum(0), _drawn(x, plan)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (np.eye(plan.kinds)[plan.codes].T @ known) / counts[:, None]  # (value, slot)
    compared = []
    for slot, (place, head) in enumerate(part.slots):
        sizes = (len(x), int((counts > 0).sum()))
        of_slot = (shuffled[:, slot], drawn[:, slot])
        variation = Variation(float(observed[slot]), float(total[slot]), *sizes, *of_slot)
        listed = [
            {"value": value, "n": int(n), "mean": float(mean)}
            for value, n, mean in zip(column.values, counts, means[:, slot], strict=True)
        ]
        compared.append(Compared(place, change_of(head, number, variation, plan), listed))
    return compared


def centered_each(values: Array) -> Array:
    """Values (row, slot) minus the mean of their slot; zero where a slot does not vary."""
    x = values - values.mean(0, keepdims=True) if len(values) else values
    varies = (x**2).sum(0) > 1e-12 * (values**2).sum(0)
    return np.ascontiguousarray(np.where(varies, x, 0.0))


def _drawn(x: Array, plan: Design) -> Array:
    """Sums of squares (draw, slot, 2) between the values and in total, each row counted as often as it was drawn."""
    between = between_each(x, plan.codes[None], plan.weights, plan.kinds)
    weights = plan.weights.astype(np.float64)
    common = (weights @ x) ** 2 / np.maximum(weights.sum(1), 1)[:, None]
    return np.stack([between - common, weights @ x**2 - common], -1)


def _table(compared: Sequence[Compared], names: Sequence[str], maps: Coded, columns: Sequence[Column]) -> pa.Table:
    def matters(item: Compared) -> bool:
        return item.change.q < SIGNIFICANT and item.change.share.explained >= EXPLAINED

    def order(item: Compared) -> tuple[Any, ...]:
        first = matters(item)
        explained = -item.change.share.explained if first else 0.0
        return not first, explained, item.change.slot, item.statistic, item.change.column

    rows = []
    for number, item in enumerate(sorted(compared, key=order)):
        change, share = item.change, item.change.share
        rows.append(
            {"layer": maps.layer[change.slot], "head": maps.head[change.slot], "statistic": names[item.statistic],
             "column": columns[change.column].name, "rank": number if matters(item) else None, "eta2": share.eta2,
             "chance": share.chance, "explained": share.explained, "low": share.low, "high": share.high,
             "p": share.p if change.untested is None else None, "q": change.q, "n": change.n,
             "groups": change.groups, "untested": change.untested, "means": item.means}
        )  # fmt: skip
    return make_table(rows, SPAN_CHANGES)


def planner(
    examples: Array, group: Array, permutations: int, seed: int, draws: int
) -> Callable[[Array, Column, int], Design]:  # fmt: skip
    """A function that makes the design of a column on some of these examples."""

    def plan(rows: Array, column: Column, number: int) -> Design:
        groups = np.unique(group[rows], return_inverse=True)[1]
        count = int(groups.max()) + 1
        bootstrap = Draws(count, draws if count >= GROUPS else 0, seed)
        return design(column, examples[rows], groups, permutations, seed + 300 + number, bootstrap)

    return plan
