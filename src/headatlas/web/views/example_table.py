"""The table of examples: what it says of each, and which of its columns maps can be coloured by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas.atlas import schema
from headatlas.web.api import encoding
from headatlas.web.api.payloads import ColumnCard
from headatlas.web.views.site import View

MOST = 256  # values of a column that can be told apart by colour and mark, and some
LABELS = {"n_tokens": "number of tokens", "n_target": "number of target tokens"}
Cell = str | float | None


def there(view: View) -> pa.Table:
    """The table without what is long: texts and images."""
    return view.once("table", lambda: _read(view, [name for name in _fields(view) if name not in ("text", "pair")]))


def texts(view: View, column: str) -> list[str | None]:
    """The texts, or their pairs, of all examples."""
    if column not in _fields(view):
        return [None] * view.shape[0]
    found: list[str | None] = _read(view, [column])[column].to_pylist()
    return found


def _read(view: View, names: list[str]) -> pa.Table:
    return view.atlas.table_groups("examples", columns=names)


def rows(view: View, name: str, number: int) -> list[dict[str, Any]]:
    """The rows of a table that belong to an example."""

    def read(start: int, stop: int) -> pa.Table:
        own = [("example", ">=", start), ("example", "<", stop)]
        return view.atlas.table(name, filters=own)

    _, stretch = view.near(name, number, schema.TABLE_ROWS, read)
    first, last = np.searchsorted(stretch["example"].to_numpy(), [number, number + 1])
    found: list[dict[str, Any]] = stretch.slice(first, last - first).to_pylist()
    return found


def _fields(view: View) -> list[str]:
    """Names of all columns."""
    return view.once("fields", lambda: list(view.atlas.table_groups("examples", [0]).column_names))


def own(view: View) -> list[str]:
    """Names of the dataset's own columns."""
    return [name for name in there(view).column_names if name not in (*schema.BOOKKEEPING, *schema.LENGTHS)]


def numbers(view: View, name: str, default: int) -> list[int]:
    """A column of whole numbers, which an old table may lack."""

    def read() -> list[int]:
        if name not in there(view).column_names:
            return [default] * view.shape[0]
        return [default if value is None else int(value) for value in there(view)[name].to_pylist()]

    return view.once(("numbers", name), read)


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


Values = Callable[[View], encoding.Words]


def columns(view: View, slugs: Callable[[Iterable[str]], dict[str, str]]) -> list[tuple[ColumnCard, Values]]:
    """Columns by which examples differ: numbers, and categories that are not too many."""
    names = [name for name in there(view).column_names if name not in schema.BOOKKEEPING]
    found = ((slug, _column(name, there(view)[name])) for name, slug in slugs(names).items())
    return [(_card(slug, *one), _values(one)) for slug, one in found if one is not None]


Found = tuple[str, str, Any, float | None, float | None, list[str]]  # name, kind, values, low, high, categories


def _column(name: str, values: pa.ChunkedArray) -> Found | None:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        amounts = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        finite = amounts[np.isfinite(amounts)]
        if not finite.size or finite.min() == finite.max():
            return None
        return name, "number", amounts, float(finite.min()), float(finite.max()), []
    if not (pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    if not 2 <= len(values.unique().drop_null()) <= MOST:
        return None
    written = [cell(value) for value in values.to_pylist()]
    counts = Counter(str(value) for value in written if value is not None)
    order = sorted(counts, key=lambda value: (-counts[value], value))  # the most frequent get the clearest colours
    place = {value: number for number, value in enumerate(order)}
    codes = np.array([encoding.NONE if value is None else place[str(value)] for value in written], "<u2")
    return name, "category", codes, None, None, order


def _card(slug: str, name: str, kind: Any, values: Any, low: Any, high: Any, categories: list[str]) -> ColumnCard:
    return ColumnCard(
        name=f"example.{name}", label=LABELS.get(name, name), group="examples", level="example", kind=kind,
        encoding="code" if kind == "category" else "amount", path=f"api/columns/example.{slug}.bin", low=low,
        high=high, unit="tokens" if name in schema.LENGTHS else "", categories=categories,
    )  # fmt: skip


def _values(found: Found) -> Values:
    _, kind, values, low, high, _ = found
    if kind == "category":
        return lambda view: values
    return lambda view: encoding.amounts(values, low or 0.0, high or 0.0)
