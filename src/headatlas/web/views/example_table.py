"""The table of examples: its values, and which of its columns maps can be colored by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from headatlas.atlas import schema
from headatlas.atlas.evaluated_columns import evaluated_values
from headatlas.web.api import arrays
from headatlas.web.api.encoding import UNKNOWN
from headatlas.web.api.payloads.atlas import ColumnCard
from headatlas.web.views.snapshot import Snapshot

MOST_CATEGORIES = 256  # more cannot be told apart by color and mark
LONG = ("text", "pair")  # columns that are read only when needed
LABELS = {"n_tokens": "number of tokens", "n_target": "number of target tokens"}
Cell = str | float | None
Values = Callable[[Snapshot], arrays.U16]


def table(snapshot: Snapshot) -> pa.Table:
    """The table without its long columns, and with those of an evaluation."""
    return snapshot.cached("table", lambda: _with_evaluation(snapshot))


def _with_evaluation(snapshot: Snapshot) -> pa.Table:
    stored = _read(snapshot, [name for name in _names(snapshot) if name not in LONG])
    for name, values in evaluated_values(snapshot.atlas).items():
        stored = stored.append_column(name, values)
    return stored


def texts(snapshot: Snapshot, column: str) -> list[str | None]:
    """The texts, or their pairs, of all examples."""
    if column not in _names(snapshot):
        return [None] * snapshot.shape[0]
    values: list[str | None] = _read(snapshot, [column])[column].to_pylist()
    return values


def _read(snapshot: Snapshot, names: list[str]) -> pa.Table:
    return snapshot.atlas.table_groups("examples", columns=names)


def rows(snapshot: Snapshot, name: str, example: int) -> list[dict[str, Any]]:
    """The rows of a table that belong to an example."""

    def read(start: int, stop: int) -> pa.Table:
        return snapshot.atlas.table(name, filters=[("example", ">=", start), ("example", "<", stop)])

    _, block = snapshot.block_of(name, example, schema.TABLE_ROWS, read)
    first, last = np.searchsorted(block["example"].to_numpy(), [example, example + 1])
    selected: list[dict[str, Any]] = block.slice(first, last - first).to_pylist()
    return selected


def _names(snapshot: Snapshot) -> list[str]:
    """Names of all columns."""
    return snapshot.cached("names", lambda: list(snapshot.atlas.table_groups("examples", [0]).column_names))


def dataset_columns(snapshot: Snapshot) -> list[str]:
    """Names of the columns that come from the dataset, or from an evaluation."""
    added = (*schema.BOOKKEEPING, *schema.LENGTHS)
    return [name for name in table(snapshot).column_names if name not in added]


def cells(snapshot: Snapshot, example: int) -> dict[str, Cell]:
    """The values of these columns for one example."""
    return {name: cell(table(snapshot)[name][example].as_py()) for name in dataset_columns(snapshot)}


def integers(snapshot: Snapshot, name: str, default: int) -> list[int]:
    """A column of integers, which the table may lack."""

    def read() -> list[int]:
        if name not in table(snapshot).column_names:
            return [default] * snapshot.shape[0]
        return [default if value is None else int(value) for value in table(snapshot)[name].to_pylist()]

    return snapshot.cached(("integers", name), read)


def cell(value: Any) -> Cell:
    """A value as the page shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return float(value) if np.isfinite(float(value)) else None
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


# columns that maps can be colored by


@dataclass(frozen=True)
class Coloring:
    """A column of the table as numbers or as codes of categories."""

    kind: Literal["number", "category"]
    values: Any
    low: float | None = None
    high: float | None = None
    categories: list[str] = field(default_factory=list)

    def encoded(self) -> arrays.U16:
        """One value per example."""
        if self.kind == "category":
            codes: arrays.U16 = self.values
            return codes
        return arrays.amounts(self.values, self.low or 0.0, self.high or 0.0)


def columns(
    snapshot: Snapshot, slugs: Callable[[Iterable[str]], dict[str, str]]
) -> list[tuple[ColumnCard, Values]]:  # fmt: skip
    """Columns whose values differ between examples: numbers, and categories unless there are too many."""
    names = [name for name in table(snapshot).column_names if name not in schema.BOOKKEEPING]
    candidates = ((name, slug, coloring_of(table(snapshot)[name])) for name, slug in slugs(names).items())
    return [
        (_card(name, slug, coloring), _values(coloring)) for name, slug, coloring in candidates if coloring is not None
    ]


def _values(coloring: Coloring) -> Values:
    return lambda snapshot: coloring.encoded()


def coloring_of(values: pa.ChunkedArray) -> Coloring | None:
    """Values as numbers or as codes; None if they do not differ, or are too many different ones."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _numbers(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _categories(values)
    return None


def _numbers(numbers: Any) -> Coloring | None:
    finite = numbers[np.isfinite(numbers)]
    if not finite.size or finite.min() == finite.max():
        return None
    return Coloring("number", numbers, float(finite.min()), float(finite.max()))


def _categories(values: pa.ChunkedArray) -> Coloring | None:
    if not 2 <= len(values.unique().drop_null()) <= MOST_CATEGORIES:
        return None
    cells = [cell(value) for value in values.to_pylist()]
    counts = Counter(str(value) for value in cells if value is not None)
    order = sorted(counts, key=lambda value: (-counts[value], value))  # the most frequent get the clearest colors
    code = {value: number for number, value in enumerate(order)}
    codes = np.array([UNKNOWN if value is None else code[str(value)] for value in cells], arrays.DTYPE)
    return Coloring("category", codes, categories=order)


def _card(name: str, slug: str, coloring: Coloring) -> ColumnCard:
    return ColumnCard(
        name=f"example.{name}", slug=f"example.{slug}", label=LABELS.get(name, name), group="examples",
        level="example", kind=coloring.kind, encoding="code" if coloring.kind == "category" else "amount",
        low=coloring.low, high=coloring.high, unit="tokens" if name in schema.LENGTHS else "",
        categories=coloring.categories,
    )  # fmt: skip
