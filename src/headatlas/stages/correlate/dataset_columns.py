"""Columns as a few values each: the dataset's, an evaluation's, those of its texts; and how numbers are binned."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.computed_columns import computed_columns, computed_values
from headatlas.atlas.evaluated_columns import evaluated_columns, evaluated_values
from headatlas.atlas.schema import BOOKKEEPING, LENGTHS
from headatlas.atlas.store import Atlas
from headatlas.data.text_columns import TextColumn
from headatlas.errors import OptionError
from headatlas.stages.correlate.effect import table_v
from headatlas.wording.thresholds import SAME_COLUMN

Array = NDArray[Any]

MOST = 50  # distinct values
BINS = 4
LENGTH_LABELS = {"n_tokens": "the number of tokens", "n_target": "the number of target tokens"}


@dataclass(frozen=True)
class Column:
    """The value of each example as a number, and what the numbers stand for; -1: the example has none."""

    name: str
    codes: Array  # (example,)
    values: tuple[str, ...]
    binned: bool = False  # numbers, cut at their quartiles
    left_out: int = 0  # examples without a value
    label: str = ""  # in a sentence, if not the name


def usable(names: Sequence[str]) -> list[str]:
    """Columns that can be requested: those of the dataset first, then the lengths of its texts.

    >>> usable(["example", "id", "n_tokens", "topic"])
    ['topic', 'n_tokens']
    """
    of_dataset = [name for name in names if name not in BOOKKEEPING and name not in LENGTHS]
    return of_dataset + [name for name in names if name in LENGTHS]


def read_columns(atlas: Atlas, requested: Sequence[str] | None) -> list[Column]:
    """The requested columns, or all that can be used.

    Those of the dataset come first, then lengths, those of an evaluation, and those computed from the texts. A column
    of the dataset hides one of these of the same name.
    """
    stored = usable(atlas.table_columns("examples"))
    evaluated = evaluated_columns(atlas)
    answers = {column.name for column in evaluated}
    computed = [column for column in computed_columns(atlas) if column.name not in answers]
    names = None if requested is None else {*requested}
    table = atlas.table("examples", columns=[name for name in stored if names is None or name in names])
    added = evaluated_values(atlas, names) | _computed(atlas, [c for c in computed if names is None or c.name in names])
    for name, values in added.items():
        table = table.append_column(name, values)
    known = {column.name: column.label for column in evaluated} | {column.name: column.label for column in computed}
    labels, available = LENGTH_LABELS | known, [*stored, *known]
    columns = chosen_columns(table, requested, available, labels)
    return [replace(column, label=labels.get(column.name, "")) for column in columns]


def _computed(atlas: Atlas, columns: Sequence[TextColumn]) -> dict[str, pa.Array]:
    """Columns computed from the texts."""
    if not columns:
        return {}
    with progress.bar("reading texts", None, "examples") as advance:
        return {name: pa.array(values) for name, values in computed_values(atlas, columns, advance).items()}


def chosen_columns(
    table: pa.Table,
    requested: Sequence[str] | None,
    available: Sequence[str] | None = None,
    silent: Container[str] = LENGTHS,
) -> list[Column]:
    """The requested columns or, by default, all `available` ones that have between 2 and 50 values or are numbers.

    Columns that cannot be used are reported, except the `silent` ones.
    """
    available = usable(table.column_names) if available is None else available
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
        elif name not in silent:
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
    values = tuple(_number(low) if low == high else f"{_number(low)}–{_number(high)}" for low, high in ends)
    return Column(name, codes, values, binned=True, left_out=left_out)


def _number(value: float) -> str:
    """A number as an end of a bin: three digits of a fraction are enough to recognize it.

    >>> _number(1204.0), _number(0.0615385)
    ('1204', '0.0615')
    """
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.3g}"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_values(columns: Sequence[Column], examples: int) -> pa.Table:
    """A row for each example with its value of every column, null where it has none."""
    table = {"example": pa.array(np.arange(examples))}
    for column in columns:
        codes = pa.array(column.codes, mask=column.codes < 0)
        table[column.name] = pa.array(column.values).take(codes)
    return pa.table(table)


def same_columns(columns: Sequence[Column]) -> dict[str, str]:
    """Columns whose values nearly follow from an earlier one that is not such a column itself, and which one."""
    same: dict[str, str] = {}
    for number, column in enumerate(columns):
        for other in columns[:number]:
            known = (column.codes >= 0) & (other.codes >= 0)
            table = np.zeros((len(column.values), len(other.values)), np.int64)
            np.add.at(table, (column.codes[known], other.codes[known]), 1)
            if other.name not in same and table_v(table) >= SAME_COLUMN:
                same[column.name] = other.name
                break
    return same


@dataclass(frozen=True)
class Units:
    """What is shuffled as a whole, for one column: the groups of examples that have one source."""

    examples: Array  # those that have a value
    members: Array
    starts: Array
    strata: Array
    kept: bool


def units(codes: Array, group: Array, *, in_order: bool = False) -> Units:
    """Order examples by group. Where a column differs within a group, whole groups of equal size are swapped instead.

    `in_order` requires the latter.
    """
    examples = np.flatnonzero(codes >= 0)
    group_index, size = np.unique(group[examples], return_inverse=True, return_counts=True)[1:]
    low, high = np.full(len(size), len(codes)), np.full(len(size), -1)
    np.minimum.at(low, group_index, codes[examples])
    np.maximum.at(high, group_index, codes[examples])
    in_order = in_order or bool((low != high).any())
    stratum = size if in_order else np.zeros(len(size), np.int64)
    order = np.argsort(stratum, kind="stable")  # groups, stratum by stratum
    rank = np.empty(len(size), np.int64)
    rank[order] = np.arange(len(size))
    members = np.argsort(rank[group_index], kind="stable")  # places among `examples`
    starts = np.concatenate([[0], np.cumsum(size[order])])
    strata = np.concatenate([[0], np.cumsum(np.unique(stratum, return_counts=True)[1])])
    return Units(examples, members, starts, strata, in_order)
