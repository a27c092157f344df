"""Columns of the dataset as a few values each: which can be used, and how numbers are cut in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.schema import BOOKKEEPING, LENGTHS
from headatlas.errors import OptionError

Array = NDArray[Any]

MOST = 50  # distinct values
BINS = 4


@dataclass(frozen=True)
class Column:
    """The value of each example as a number, and what the numbers stand for; -1: the example has none."""

    name: str
    codes: Array  # (example,)
    values: tuple[str, ...]
    binned: bool = False  # numbers, cut at their quartiles
    left_out: int = 0  # examples without a value


def usable(table: pa.Table) -> list[str]:
    """Columns that can be requested."""
    return [name for name in table.column_names if name not in BOOKKEEPING]


def chosen_columns(table: pa.Table, requested: Sequence[str] | None) -> list[Column]:
    """The requested columns or, by default, all that have between 2 and 50 values or are numbers."""
    available = usable(table)
    names = list(dict.fromkeys(available if requested is None else requested))
    unknown = [name for name in names if name not in available]
    if unknown:
        listing = f"the columns are: {', '.join(available)}" if available else "there are none"
        raise OptionError(f"the table examples has no column {unknown[0]!r} to correlate with; {listing}")
    columns: list[Column] = []
    skipped: list[str] = []
    for name in names:
        column, problem = _column(name, table[name])
        if column is not None:
            columns.append(column)
        elif requested is not None:
            raise OptionError(f"the column {name!r} {problem}: choose one with 2 to {MOST} values, or numbers")
        elif name not in LENGTHS:
            skipped.append(f"{name} ({problem})")
    if skipped:
        progress.say(f"columns left out: {', '.join(skipped)}")
    return columns


def _column(name: str, values: pa.ChunkedArray) -> tuple[Column | None, str]:
    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (number or pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None, f"holds {kind}"
    plain = values.to_pylist()
    known = np.array([value is not None and value == value for value in plain])  # NaN is not itself
    distinct = sorted({value for value, ok in zip(plain, known, strict=True) if ok})
    if len(distinct) < 2:
        return None, "has the same value everywhere" if distinct else "is empty"
    left_out = int((~known).sum())
    if number and (len(distinct) > MOST or name in LENGTHS or pa.types.is_floating(kind)) and len(distinct) > BINS:
        numbers = np.array([value if ok else np.nan for value, ok in zip(plain, known, strict=True)])
        return _binned(name, numbers, left_out), ""
    if len(distinct) > MOST:
        return None, f"has {len(distinct):,} values"
    place = {value: code for code, value in enumerate(distinct)}
    codes = np.array([place[value] if ok else -1 for value, ok in zip(plain, known, strict=True)])
    return Column(name, codes, tuple(_written(value) for value in distinct), left_out=left_out), ""


def _binned(name: str, numbers: Array, left_out: int) -> Column:
    """Numbers cut at their quartiles; bins that would be empty are left out."""
    numbers = numbers.astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    cuts = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="lower"))
    cuts = cuts[cuts < known.max()]
    codes = np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers, side="left"), -1)
    ends = [(known[codes[np.isfinite(numbers)] == code].min(), known[codes[np.isfinite(numbers)] == code].max())
            for code in range(len(cuts) + 1)]  # fmt: skip
    values = tuple(f"{low:g}" if low == high else f"{low:g}–{high:g}" for low, high in ends)
    return Column(name, codes, values, binned=True, left_out=left_out)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Units:
    """What is shuffled as a whole, for one column: the groups of examples that come from one text."""

    examples: Array  # those that have a value
    members: Array
    starts: Array
    strata: Array
    kept: bool


def units(codes: Array, group: Array) -> Units:
    """Order examples by group. Where a column differs within a text, whole texts of equal size are swapped instead."""
    examples = np.flatnonzero(codes >= 0)
    group_index, size = np.unique(group[examples], return_inverse=True, return_counts=True)[1:]
    low, high = np.full(len(size), len(codes)), np.full(len(size), -1)
    np.minimum.at(low, group_index, codes[examples])
    np.maximum.at(high, group_index, codes[examples])
    in_order = bool((low != high).any())
    stratum = size if in_order else np.zeros(len(size), np.int64)
    order = np.argsort(stratum, kind="stable")  # groups, stratum by stratum
    rank = np.empty(len(size), np.int64)
    rank[order] = np.arange(len(size))
    members = np.argsort(rank[group_index], kind="stable")  # places among `examples`
    starts = np.concatenate([[0], np.cumsum(size[order])])
    strata = np.concatenate([[0], np.cumsum(np.unique(stratum, return_counts=True)[1])])
    return Units(examples, members, starts, strata, in_order)
