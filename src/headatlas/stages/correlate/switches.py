"""Heads that switch to another pattern for a value of a column: most of their maps there, and few elsewhere."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.schema import NOISE
from headatlas.numeric.chance import false_discovery_rates
from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.tables import REAL, TEXT, WHOLE, make_table
from headatlas.wording.thresholds import SIGNIFICANT, SWITCHES

Array = NDArray[Any]
LEAST = 5  # texts with the value, and without it
SWITCHES_TABLE = {
    "layer": pa.int32(), "head": pa.int32(), "column": TEXT, "value": TEXT, "cluster": pa.int32(), "share": REAL,
    "otherwise": REAL, "low": REAL, "high": REAL, "n": WHOLE, "q": REAL,
}  # fmt: skip


@dataclass(frozen=True)
class Switch:
    """A head and a cluster: the share of its maps where a column has a value, and on all other examples.

    `low` and `high` are the interval of the difference, from a bootstrap over texts.
    """

    slot: int
    column: int
    value: int
    code: int
    share: float
    otherwise: float
    n: int  # examples with the value
    p: float
    q: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def switches(
    maps: Coded, columns: Sequence[Column], changed: Container[tuple[int, int]], draws: Draws | None = None
) -> pa.Table:
    """A row for each head that changes with a column (`changed` has slots and numbers of columns) and has a pattern on
    at most half of the texts that it has nearly nowhere else.

    p is that of Fisher's exact test, q is corrected over all heads, values and clusters that were compared.
    """
    candidates: list[Switch] = []
    compared = 0
    for number, column in enumerate(columns):
        slots = [slot for slot in range(len(maps.layer)) if (slot, number) in changed]
        known = np.flatnonzero(column.codes >= 0)
        values = _usable(column.codes[known], maps.group[known], len(column.values))
        compared += len(slots) * len(values) * maps.kinds
        for slot in slots:
            candidates += _of_head(maps, slot, number, column.codes[known], known, values)
    certain = _significant(candidates, compared)
    certain.sort(key=lambda switch: (switch.column, switch.otherwise - switch.share, switch.slot))
    if draws is not None and draws.count:
        certain = [_with_interval(maps, columns[switch.column], switch, draws) for switch in certain]
    return make_table([_row(maps, columns[switch.column], switch) for switch in certain], SWITCHES_TABLE)


def _usable(codes: Array, group: Array, kinds: int) -> list[int]:
    """Values that at most half of the examples have, and enough independent texts have and lack."""
    usable = []
    for value in range(kinds):
        has = codes == value
        texts = min(len(np.unique(group[has])), len(np.unique(group[~has])))
        if texts >= LEAST and 2 * has.sum() <= len(codes):
            usable.append(value)
    return usable


def _of_head(
    maps: Coded, slot: int, number: int, codes: Array, known: Array, values: Sequence[int]
) -> Iterator[Switch]:
    """The clusters to which a head may switch."""
    labels = maps.codes[known, slot]
    codes, labels, group = codes[labels >= 0], labels[labels >= 0], maps.group[known][labels >= 0]
    texts = len(np.unique(group)) / max(1, len(codes))  # examples of one group count as one text
    for value in values:
        has = codes == value
        n, rest = int(has.sum()), int((~has).sum())
        if not n or not rest:
            continue
        inside, outside = (np.bincount(labels[part], minlength=maps.kinds) for part in (has, ~has))
        for code in np.flatnonzero((inside / n - outside / rest >= SWITCHES) & (maps.clusters != NOISE)):
            p = _fisher(inside[code] * texts, outside[code] * texts, n * texts, rest * texts)
            share, otherwise = float(inside[code] / n), float(outside[code] / rest)
            yield Switch(slot, number, value, int(code), share, otherwise, n, p)


def _fisher(inside: float, outside: float, n: float, rest: float) -> float:
    """The probability of at least as many inside, if it did not matter; counts are rounded to the careful side."""
    from scipy.stats import hypergeom

    few, many = int(inside), int(np.ceil(outside))
    return float(hypergeom.sf(few - 1, int(n) + int(rest), min(few + many, int(n) + int(rest)), int(n)))


def _significant(candidates: Sequence[Switch], compared: int) -> list[Switch]:
    """Those with a small q; what is no candidate has p = 1, which is careful."""
    if not candidates:
        return []
    p = np.concatenate([[switch.p for switch in candidates], np.ones(compared - len(candidates))])
    q = false_discovery_rates(p)[: len(candidates)]
    return [replace(switch, q=float(q[at])) for at, switch in enumerate(candidates) if q[at] < SIGNIFICANT]


def _with_interval(maps: Coded, column: Column, switch: Switch, draws: Draws) -> Switch:
    """The same with the interval of the difference of both shares."""
    labels = maps.codes[:, switch.slot]
    known = (column.codes >= 0) & (labels >= 0)
    group = np.unique(maps.group, return_inverse=True)[1][known]
    has, inside = column.codes[known] == switch.value, labels[known] == switch.code
    kinds = (has & inside, has, ~has & inside, ~has)
    counts = np.stack([np.bincount(group, kind, draws.groups) for kind in kinds])  # (kind, group)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.concatenate([weights @ counts.T for weights in draws.batches()]).T  # (kind, draw)
        low, high = interval(sums[0] / sums[1] - sums[2] / sums[3])
    return replace(switch, low=float(low), high=float(high))


def _row(maps: Coded, column: Column, switch: Switch) -> dict[str, Any]:
    where = {"layer": maps.layer[switch.slot], "head": maps.head[switch.slot], "cluster": maps.clusters[switch.code]}
    about = {"column": column.name, "value": column.values[switch.value]}
    return where | about | {name: getattr(switch, name) for name in ("share", "otherwise", "low", "high", "n", "q")}
