"""Clusters against heads, layers, examples and columns: tables, shuffles, effect sizes and corrected p-values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.numeric.chance import false_discovery_rates
from headatlas.numeric.metrics import interval
from headatlas.stages.correlate import shuffle
from headatlas.stages.correlate.counts import Coded, grouped_spread, null_heads, null_layers, one_example
from headatlas.stages.correlate.dataset_columns import Column, Units, units
from headatlas.stages.correlate.effect import (
    Draws,
    adjusted_information,
    bound,
    cramers_v,
    phi_squared,
    range_bound,
    table_v,
)
from headatlas.wording import head_name
from headatlas.wording.thresholds import GROUPS

Array = NDArray[Any]
Step = Callable[[int], None]
CHUNK = 20  # shuffles per task of a thread


@dataclass(frozen=True)
class Factor:
    """A factor against the clusters; cells are arrays (value, code), NaN where there is no test.

    `shuffled` says what is permuted: labels over the `heads` of an example or the `examples` of a head, values over
    `texts` or, where they differ within one, over texts of equally many `windows`, or heads over the `grid`.
    `untested` says why there is nothing to test: `one cluster`, `one value`, `one label per head`,
    `same in all examples`, `few groups`. Numbers of a column may be `binned`; examples without a value are `left_out`.
    """

    name: str
    values: tuple[str, ...]
    table: Array
    v: float
    ami: float
    p: float = float("nan")
    chance: float = float("nan")  # mean V of the shuffled tables
    low: float = float("nan")
    high: float = float("nan")
    permutations: int = 0
    shuffled: str | None = None
    untested: str | None = None
    binned: bool = False
    left_out: int = 0
    cells: dict[str, Array] = field(default_factory=dict)


@dataclass
class Tally:
    """Totals over the shuffled tables: how often each cell, and the whole table, was at least as far from its mean."""

    observed: Array
    mean: Array | None = None  # None: what the margins of each table make it
    cells: bool = True  # False: only the whole table is counted
    reached: Array | int = 0
    above: int = 0
    phi: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(phi_squared(self.observed)) * (1 - 1e-12)
        self.deviation = np.empty(0)
        if self.cells:
            self.deviation = np.abs(self.observed - self.expected(self.observed)) * (1 - 1e-12)

    def expected(self, table: Array) -> Array:
        """The counts a table is compared with; the totals of the clusters are the same in every shuffle."""
        if self.mean is not None:
            return self.mean
        share = self.observed.sum(0) / max(1, self.observed.sum())
        expected: Array = table.sum(1, keepdims=True) * share
        return expected

    def add(self, table: Array) -> None:
        """Count one shuffled table."""
        phi = float(phi_squared(table))
        self.above += phi >= self.limit
        self.phi += phi
        if self.cells:
            self.reached += np.abs(table - self.expected(table)) >= self.deviation

    def join(self, other: Tally) -> None:
        """Add what another thread counted."""
        self.reached = self.reached + other.reached
        self.above += other.above
        self.phi += other.phi


def tests(
    maps: Coded, columns: list[Column], *, level: str, permutations: int, seed: int, draws: Draws, step: Step
) -> list[Factor]:
    """Every factor in turn: head, layer, example, then the columns; described only where there are too few texts."""
    counts = maps.examples()
    if int(maps.group.max()) + 1 < GROUPS:
        return _described(maps, counts, columns if level == "maps" else [])
    if level == "heads":
        return _of_heads(maps, counts, permutations, seed, step)
    factors = heads_and_layers(maps, permutations, seed, draws, step)
    factors.append(_examples(maps, counts, permutations, seed + 1, draws, step))
    for number, column in enumerate(columns):
        if len(np.unique(maps.group[column.codes >= 0])) < GROUPS:
            factors.append(_described_column(column, counts))
        else:
            factors.append(of_column(column, maps, counts, permutations, seed + 2 + number, draws, step))
    return factors


def head_tables(maps: Coded, draws: Draws) -> Array:
    """Counts (draw, slot, code) of a bootstrap over examples."""
    tables = [shuffle.weighted_heads(maps.codes, weights[maps.group], maps.kinds) for weights in draws]
    return np.array(tables).reshape(-1, len(maps.layer), maps.kinds)


def heads_and_layers(maps: Coded, permutations: int, seed: int, draws: Draws, step: Step) -> list[Factor]:
    """Both come from the same shuffles: labels are permuted over the heads of each example.

    All examples of a group are permuted in the same way.
    """
    heads = maps.heads()
    tables = [heads, maps.by_layer(heads)]
    nulls = [null_heads(maps.codes, maps.kinds), null_layers(maps.codes, maps.kinds, maps.layer)]

    def shuffled(number: int) -> list[Array]:
        table = shuffle.within_rows(maps.codes, maps.kinds, maps.group, seed, number)
        return [table, maps.by_layer(table)]

    new_tallies = [Tally(table, null[0]) for table, null in zip(tables, nulls, strict=True)]
    tallies = _tallied(shuffled, new_tallies, permutations, step)
    drawn = head_tables(maps, draws)
    named = [("head", _head_names(maps), drawn), ("layer", _layer_names(maps), maps.by_layer(drawn))]
    spread = grouped_spread(maps) if maps.grouped else None
    factors = []
    for (name, values, draw), table, tally, (mean, variance) in zip(named, tables, tallies, nulls, strict=True):
        if spread is None:
            tail = bound(table, mean, table.sum(1, keepdims=True))
        else:
            variance, tail = _grouped_null(maps, spread, table - mean)
        cells = _cells(tally, variance, tail, permutations, draw)
        factors.append(_factor(name, values, tally, permutations, phi_squared(draw), cells, "heads"))
    return factors


def _grouped_null(maps: Coded, spread: tuple[Array, Array], deviation: Array) -> tuple[Array, Array]:
    """Variance and bound on p (value, code) of heads or layers, where examples of a group are permuted together."""
    slots, by_layer = len(maps.layer), len(deviation) < len(maps.layer)
    heads = (np.unique(maps.layer, return_counts=True)[1] if by_layer else np.ones(slots))[:, None]
    variance: Array = heads * (slots - heads) / max(1, slots - 1) * spread[0]
    return variance, range_bound(deviation, heads * spread[1])


def _examples(maps: Coded, counts: Array, permutations: int, seed: int, draws: Draws, step: Step) -> Factor:
    """Do examples differ in the clusters of their maps? Labels are permuted over the examples of each head.

    Examples of a group stay together and trade places with groups of the same size.
    """
    by_slot = np.ascontiguousarray(maps.codes.T)
    slots = np.arange(len(by_slot))
    unit = units(np.zeros(len(maps.codes), np.int64), maps.group, in_order=True)

    def shuffled(number: int) -> list[Array]:
        if maps.grouped:
            grouping = (unit.members, unit.starts, unit.strata)
            return [shuffle.groups_within_rows(by_slot, maps.kinds, *grouping, seed, number)]
        return [shuffle.within_rows(by_slot, maps.kinds, slots, seed, number)]

    (tally,) = _tallied(shuffled, [Tally(counts, cells=False)], permutations, step)
    squares = counts**2 / np.maximum(counts.sum(1, keepdims=True), 1)
    phi = []
    for weights in draws:
        example_weights = weights[maps.group]
        totals = example_weights @ counts
        phi.append((example_weights @ squares / np.maximum(totals, 1)).sum() - 1)
    return _factor("example", (), tally, permutations, np.array(phi), {}, "examples")


def of_column(
    column: Column, maps: Coded, counts: Array, permutations: int, seed: int, draws: Draws, step: Step
) -> Factor:
    """Are clusters associated with a column? Its values are permuted between whole texts."""
    unit = units(column.codes, maps.group)
    example_counts, values, kinds = counts[unit.examples], column.codes[unit.examples], len(column.values)
    table = shuffle.weighted_values(example_counts, values, np.ones(len(values), np.int64), kinds)

    def shuffled(number: int) -> list[Array]:
        grouping = (unit.members, unit.starts, unit.strata, unit.kept)
        return [shuffle.values_over_groups(example_counts, values, *grouping, kinds, seed, number)]

    new_tally = Tally(table)
    if unit.kept:  # no closed form: the variance is estimated from separate shuffles
        others = [shuffled(permutations + number)[0] for number in range(200)]
        variance, tail = np.mean([(other - new_tally.expected(other)) ** 2 for other in others], 0), None
    else:
        variance, tail = null_column(example_counts, values, unit, kinds)
    (tally,) = _tallied(shuffled, [new_tally], permutations, step)
    group = maps.group[unit.examples]
    drawn = np.array([shuffle.weighted_values(example_counts, values, weights[group], kinds) for weights in draws])
    drawn = drawn.reshape(-1, *table.shape)
    cells = _cells(tally, variance, tail, permutations, drawn)
    shuffled_by = "windows" if unit.kept else "texts"
    factor = _factor(column.name, column.values, tally, permutations, phi_squared(drawn), cells, shuffled_by)
    return replace(factor, binned=column.binned, left_out=column.left_out)


def null_column(counts: Array, values: Array, unit: Units, kinds: int) -> tuple[Array, Array]:
    """Exact variance (value, code) of count − expected when values are permuted between texts, and a bound on p.

    A text adds to a cell its maps in the cluster minus the number expected from its number of maps, so that texts of
    many windows do not create an association. The texts of one value are draws of these numbers without replacement.
    """
    summed = np.add.reduceat(counts[unit.members], unit.starts[:-1], 0)
    excess = summed - summed.sum(1, keepdims=True) * (summed.sum(0) / max(1, summed.sum()))
    value = values[unit.members[unit.starts[:-1]]]
    drawn = np.bincount(value, minlength=kinds)[:, None]
    spread = excess.var(0, ddof=1) if len(excess) > 1 else np.zeros(excess.shape[1])
    observed = np.stack([excess[value == number].sum(0) for number in range(kinds)])
    low, reach = excess.min(0), np.maximum(np.ptp(excess, 0), 1e-12)
    tail = bound((observed - drawn * low) / reach, -drawn * low / reach, drawn)
    return drawn * (1 - drawn / len(excess)) * spread, tail


def _of_heads(maps: Coded, counts: Array, permutations: int, seed: int, step: Step) -> list[Factor]:
    """A clustering of heads: labels are the same in all examples, so only the layer can be tested."""
    single = one_example(maps)
    heads, layer_table = maps.heads(), single.by_layer(single.heads())

    def shuffled(number: int) -> list[Array]:
        return [single.by_layer(shuffle.within_rows(single.codes, single.kinds, single.group, seed, number))]

    mean, variance = null_layers(single.codes, single.kinds, single.layer)
    (tally,) = _tallied(shuffled, [Tally(layer_table, mean)], permutations, step)
    tail = bound(layer_table, mean, layer_table.sum(1, keepdims=True))
    cells = _cells(tally, variance, tail, permutations, np.empty((0, *layer_table.shape)))
    cells["expected"] = mean * len(maps.codes)  # maps, as elsewhere
    layers = _factor("layer", _layer_names(maps), tally, permutations, np.empty(0), cells, "grid")
    return [
        _plain("head", _head_names(maps), heads, "one label per head"),
        replace(layers, table=maps.by_layer(heads)),
        _plain("example", (), counts, "same in all examples"),
    ]


def _described(maps: Coded, counts: Array, columns: list[Column]) -> list[Factor]:
    """All factors without a test: there are too few independent texts for one."""
    heads = maps.heads()
    return [
        _plain("head", _head_names(maps), heads, _few(heads)),
        _plain("layer", _layer_names(maps), maps.by_layer(heads), _few(maps.by_layer(heads))),
        replace(_plain("example", (), counts, _few(counts)), cells={}),
        *(_described_column(column, counts) for column in columns),
    ]


def _described_column(column: Column, counts: Array) -> Factor:
    known = column.codes >= 0
    ones = np.ones(int(known.sum()), np.int64)
    table = shuffle.weighted_values(counts[known], column.codes[known], ones, len(column.values))
    described = _plain(column.name, column.values, table, _few(table))
    return replace(described, binned=column.binned, left_out=column.left_out)


def _few(table: Array) -> str:
    return _one_only(table) or "few groups"


def _one_only(table: Array) -> str | None:
    """Why a table cannot be tested however many texts there are."""
    rows, columns = int((table.sum(1) > 0).sum()), int((table.sum(0) > 0).sum())
    return "one cluster" if columns < 2 else "one value" if rows < 2 else None


def _plain(name: str, values: tuple[str, ...], table: Array, untested: str) -> Factor:
    """A factor without a test."""
    nothing = np.full(table.shape, np.nan)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / max(1, table.sum())
    cells = dict.fromkeys(("residual", "low", "high", "p", "q"), nothing) | {"expected": expected}
    return Factor(name, values, table, table_v(table), adjusted_information(table), untested=untested, cells=cells)


def _tallied(
    shuffled: Callable[[int], list[Array]], new_tallies: list[Tally], permutations: int, step: Step
) -> list[Tally]:
    """Run shuffles in threads. Phi is added in the order of the chunks, so the result does not depend on threads."""

    def chunk(start: int) -> tuple[int, list[Tally]]:
        tallies = [replace(tally) for tally in new_tallies]
        for number in range(start, min(start + CHUNK, permutations)):
            for tally, table in zip(tallies, shuffled(number), strict=True):
                tally.add(table)
        return start, tallies

    parts: dict[int, list[Tally]] = {}
    for start, tallies in parallel.run(chunk, range(0, permutations, CHUNK)):
        parts[start] = tallies
        step(min(CHUNK, permutations - start))
    totals = [replace(tally) for tally in new_tallies]
    for start in sorted(parts):
        for total, part in zip(totals, parts[start], strict=True):
            total.join(part)
    return totals


def _factor(
    name: str,
    values: tuple[str, ...],
    tally: Tally,
    permutations: int,
    drawn: Array,
    cells: dict[str, Array],
    shuffled: str,
) -> Factor:
    """Measures of the whole table of a factor: observed, shuffled, and from phi² of the bootstrap draws."""
    table = tally.observed
    rows, columns = int((table.sum(1) > 0).sum()), int((table.sum(0) > 0).sum())
    n = int(table.sum())
    low, high = interval(cramers_v(drawn, n, rows, columns))
    return Factor(
        name, values, table, table_v(table), adjusted_information(table),
        p=(1 + tally.above) / (1 + permutations), low=float(low), high=float(high),
        chance=float(cramers_v(np.array(tally.phi / permutations), n, rows, columns)),
        permutations=permutations, shuffled=shuffled, untested=_one_only(table), cells=cells,
    )  # fmt: skip


def _cells(tally: Tally, variance: Array, tail: Array | None, permutations: int, drawn: Array) -> dict[str, Array]:
    """Residual, interval of the share of the value's maps, p and q of each cell."""
    table, expected = tally.observed, tally.expected(tally.observed)
    with np.errstate(invalid="ignore", divide="ignore"):
        residual = np.where(variance > 1e-9, (table - expected) / np.sqrt(variance), 0.0)
        low, high = interval(drawn / drawn.sum(-1, keepdims=True))
    p: Array = (1 + np.asarray(tally.reached)) / (1 + permutations)
    if tail is not None:
        p = np.where(tally.reached == 0, np.minimum(p, tail), p)
    return {"expected": expected, "residual": residual, "low": low, "high": high, "p": p, "q": false_discovery_rates(p)}


def _layer_names(maps: Coded) -> tuple[str, ...]:
    return tuple(str(layer) for layer in np.unique(maps.layer))


def _head_names(maps: Coded) -> tuple[str, ...]:
    return tuple(head_name(layer, head) for layer, head in zip(maps.layer, maps.head, strict=True))
