"""Examples and tokens as tables, written as the dataset is read. `atlas.tokens` reads them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache, reduce
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from headatlas.atlas.writer import Writer
from headatlas.data import Dataset, Example
from headatlas.data.dataset import clean
from headatlas.models.encode import Encoded
from headatlas.models.model import Grid

Item = TypeVar("Item")

INTEGER, LONG, TEXT, FLAG = pa.int32(), pa.int64(), pa.string(), pa.bool_()
EXAMPLES = {
    "example": LONG, "id": TEXT, "text": TEXT, "pair": TEXT, "image": TEXT, "window": INTEGER, "windows": INTEGER,
    "n_tokens": INTEGER, "n_target": INTEGER, "offset": LONG, "cut": INTEGER,
}  # fmt: skip
PLACE = {"token": LONG, "example": LONG, "position": INTEGER}
TOKENS = PLACE | {
    "target": FLAG, "id": INTEGER, "text": TEXT, "word": INTEGER, "special": FLAG, "segment": pa.int8(),
    "start": INTEGER, "stop": INTEGER,
}  # fmt: skip
SPANS = {"span": TEXT, "turn": INTEGER}  # only where the dataset has them
PATCHES = PLACE | {"text": TEXT, "special": FLAG, "row": INTEGER, "column": INTEGER}

Row = tuple[dict[str, Any], Encoded | None]


class TableWriter:
    """Writes both tables row group by row group; row numbers and offsets are counted here."""

    def __init__(
        self, writer: Writer, columns: dict[str, Any], grid: Grid | None, spans: Sequence[str] = ()
    ) -> None:  # fmt: skip
        self.writer, self.grid, self.spans = writer, grid, spans
        self.example_schema = pa.schema(EXAMPLES | columns)
        self.token_schema = pa.schema(PATCHES if grid else TOKENS | {name: SPANS[name] for name in spans})
        self.lengths: list[int] = []
        self.tokens = 0

    def __enter__(self) -> Self:
        with ExitStack() as open_files:
            self._examples = open_files.enter_context(self.writer.writing_table("examples", self.example_schema))
            self._tokens = open_files.enter_context(self.writer.writing_table("tokens", self.token_schema))
            self._files = open_files.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._files.__exit__(*error)

    def write(self, rows: Sequence[Row]) -> None:
        """Add one row group to each table."""
        sizes = [row["n_tokens"] + row["n_target"] for row, _ in rows]
        starts = self.tokens + np.cumsum([0, *sizes])
        first = len(self.lengths)
        numbered = [
            row | {"example": first + i, "offset": int(starts[i])} for i, (row, _) in enumerate(rows)
        ]  # fmt: skip
        self._examples.write_table(example_table(numbered, self.example_schema))
        columns = [
            _patch_columns(self.grid) if self.grid else _token_columns(encoded, self.spans) for _, encoded in rows
        ]
        place = {
            "token": np.arange(starts[0], starts[-1]),
            "example": np.repeat(np.arange(first, first + len(rows)), sizes),
        }
        joined = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
        self._tokens.write_table(pa.Table.from_pydict(place | joined, schema=self.token_schema))
        self.lengths += sizes
        self.tokens += sum(sizes)


def example_table(rows: Sequence[Mapping[str, Any]], fields: Any) -> Any:
    """Rows of `examples` as a table."""
    return pa.Table.from_pydict({name: [row.get(name) for row in rows] for name in fields.names}, schema=fields)


def _token_columns(encoded: Encoded | None, spans: Sequence[str]) -> dict[str, Any]:
    assert encoded is not None  # a text always has tokens
    parts = [part for part in (encoded.source, encoded.target) if part is not None]
    columns = {
        "position": [np.arange(len(part)) for part in parts],
        "target": [np.full(len(part), number == 1) for number, part in enumerate(parts)],
        "id": [part.ids for part in parts],
        "text": [np.array(part.text, object) for part in parts],
        "word": [part.word for part in parts],
        "special": [part.special for part in parts],
        "segment": [part.segment for part in parts],
        "start": [part.start for part in parts],
        "stop": [part.stop for part in parts],
    }
    if "span" in spans:  # an example without spans, among others that have some, has none of them
        columns["span"] = [np.array(part.span or [None] * len(part), object) for part in parts]
    if "turn" in spans:
        columns["turn"] = [np.full(len(part), -1) if part.turn is None else part.turn for part in parts]
    return {name: np.concatenate(values) for name, values in columns.items()}


def _patch_columns(grid: Grid) -> dict[str, Any]:
    special, count = len(grid.special), grid.rows * grid.columns
    row, column = np.divmod(np.arange(count), grid.columns)
    off = np.full(special, -1)
    return {
        "position": np.arange(special + count),
        "text": np.array([*grid.special, *(f"{r},{c}" for r, c in zip(row, column, strict=True))], object),
        "special": np.arange(special + count) < special,
        "row": np.concatenate([off, row]),
        "column": np.concatenate([off, column]),
    }


# columns of the dataset


@lru_cache(maxsize=1024)
def stored_name(column: str) -> str:
    """The name of a dataset column in `examples`; a prefix avoids the names used by headatlas."""
    return f"data_{column}" if column in EXAMPLES else clean(column)


def column_types(dataset: Dataset, noted: Callable[[Iterable[Example]], Iterable[Example]] = iter) -> dict[str, Any]:
    """Types of the dataset's columns over all examples; a column with several types is stored as JSON.

    The examples are passed through `noted` as they are read.
    """
    seen: dict[str, set[Any]] = {}  # the types of each column
    for batch in batched(noted(dataset), 1024):
        for name, values in _values(batch).items():
            seen.setdefault(name, set()).add(_infer(values))
    types = {name: reduce(_common, sorted(kinds, key=str), pa.null()) for name, kinds in seen.items()}
    mixed = {name for name, kinds in seen.items() if len(kinds - {pa.null()}) > 1}
    for batch in batched(dataset, 1024) if mixed else ():  # a common type need not hold every value
        types |= {name: TEXT for name, values in _values(batch).items() if not _fits(values, types[name])}
    return {name: kind if _is_storable(kind) else TEXT for name, kind in types.items()}


def _values(examples: Iterable[Example]) -> dict[str, list[Any]]:
    """The values of each column, by its stored name."""
    values: dict[str, list[Any]] = {}
    for example in examples:
        for name, value in example.columns.items():
            values.setdefault(stored_name(name), []).append(value)
    return values


def stored_row(example: Example, types: Mapping[str, Any]) -> dict[str, Any]:
    """An example as it is stored: its texts, and the columns of the dataset."""
    text, pair = (None if part is None else clean(part) for part in (example.text, example.pair))
    row = {"id": clean(example.id), "text": text, "pair": pair, "image": example.image}
    named = ((stored_name(name), value) for name, value in example.columns.items())
    return row | {name: column_value(value, types[name]) for name, value in named}


def column_value(value: Any, kind: Any) -> Any:
    """A value as it is stored in its column."""
    if pa.types.is_string(kind) and value is not None:
        return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return value


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one possibly shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _infer(values: list[Any]) -> Any:
    try:
        return pa.array(values).type
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return TEXT


def _fits(values: list[Any], kind: Any) -> bool:
    """Whether values can be stored with a type."""
    if pa.types.is_string(kind):
        return True  # anything, as JSON
    try:
        pa.array(values, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def _is_storable(kind: Any) -> bool:
    """Whether Parquet can hold a type; it cannot hold objects without fields."""
    import pyarrow.parquet as pq

    if pa.types.is_null(kind):
        return False
    try:
        pq.write_table(pa.table({"x": pa.array([], kind)}), pa.BufferOutputStream())
    except (pa.ArrowException, OSError):
        return False
    return True


def _common(first: Any, second: Any) -> Any:
    try:
        both = [pa.schema([("x", first)]), pa.schema([("x", second)])]
        return pa.unify_schemas(both, promote_options="permissive").field("x").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return TEXT
