"""Tables in memory: data frames, Arrow tables, Hugging Face datasets and dicts of columns, read row by row."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from headatlas.data.dataset import Example, Items, Modality
from headatlas.data.readers.hub import check_no_images
from headatlas.data.rows import Columns, Picked
from headatlas.errors import DataError

__all__ = ["ACCEPTED", "Table", "example_bytes", "rows_table", "table_of"]

ACCEPTED = (
    "a name; a pandas or polars DataFrame, pyarrow Table, Hugging Face Dataset or dict of columns; "
    "or a list of texts, dicts, (text, pair) tuples or Example objects"
)
ROWS = 1024  # converted to Python at a time

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """A source whose rows have named columns; `rows` reads them from the start."""

    picked: Picked
    kind: str
    rows: Callable[[], Iterable[Row]]
    modality: Modality = "text"

    def read(self) -> Items:
        """One example per row."""
        yield from self.picked.examples(self.rows(), self.kind)

    def content(self) -> Iterator[bytes]:
        """Every field of every example."""
        for item in self.read():
            yield example_bytes(item) if isinstance(item, Example) else repr(item).encode()


def example_bytes(example: Example) -> bytes:
    """Every field of an example but its image, for the fingerprint."""
    fields: list[object] = [example.id, example.text, example.pair, example.words, dict(example.columns)]
    fields += [[astuple(item) for item in items] for items in (example.spans, example.messages) if items]
    return json.dumps(fields, sort_keys=True, default=repr).encode()


def table_of(data: Any, columns: Columns) -> Table | None:
    """The table that an object is, recognized without importing its library; None if it is not one.

    >>> table = table_of({"review": ["Fine.", "Dull."], "stars": [4, 1]}, Columns())
    >>> [(item.text, item.columns) for item in table.read()]
    [('Fine.', {'stars': 4}), ('Dull.', {'stars': 1})]
    """
    library, kind = type(data).__module__.partition(".")[0], type(data).__name__
    if isinstance(data, Mapping):
        return _dict_table(data, columns, kind)
    if library == "pandas" and kind == "DataFrame":
        frame = data.copy()  # a later change must not change the dataset
        return _table([str(name) for name in frame.columns], columns, kind, partial(_pandas_rows, frame))
    if library == "datasets" and hasattr(data, "cache_files"):  # not a stream, which can only be iterated
        check_no_images(data, kind)
        plain = data.with_format(None)
        return _table(plain.column_names, columns, kind, partial(iter, plain))
    arrow = _arrow(data, library)
    return None if arrow is None else _table(arrow.schema.names, columns, kind, partial(_arrow_rows, arrow))


def rows_table(rows: Sequence[Row], columns: Columns) -> Table:
    """A list of dicts, one per row. As in a JSON lines file, the first row says which columns there are."""
    copied = [dict(row) for row in rows]
    return _table(list(copied[0]), columns, "the first dict", partial(iter, copied))


def _table(names: Sequence[str], columns: Columns, kind: str, rows: Callable[[], Iterable[Row]]) -> Table:
    repeated = next((name for name in names if list(names).count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{kind} has more than one column {repeated!r}. Give each its own name.")
    return Table(columns.pick(names, kind), kind, rows)


def _dict_table(data: Mapping[Any, Any], columns: Columns, kind: str) -> Table:
    lists = {str(name): _column(name, values, kind) for name, values in data.items()}
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DataError(f"The columns of {kind} differ in length ({listed}). Give each one value per example.")
    return _table(list(lists), columns, kind, partial(_zipped, lists))


def _column(name: object, values: Any, kind: str) -> list[object]:
    if hasattr(values, "column_names"):
        raise DataError(f"{kind} holds one dataset per split. Choose one: data[{name!r}].")
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"Column {name!r} of {kind} is {type(values).__name__}, not a list with a value per example.")
    for convert in ("to_pylist", "tolist"):  # pyarrow, then numpy and pandas
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return [_plain(value) for value in values]


def _pandas_rows(frame: Any) -> Iterator[Row]:
    """The rows of a pandas DataFrame; a missing value, such as NaN, becomes None."""
    for start in range(0, len(frame), ROWS):
        part = frame.iloc[start : start + ROWS]
        series = {str(name): part.iloc[:, place] for place, name in enumerate(part.columns)}
        yield from _zipped(
            {
                name: [None if missing else _plain(value) for value, missing in zip(values, values.isna(), strict=True)]
                for name, values in series.items()
            }
        )


def _zipped(columns: Mapping[str, Sequence[object]]) -> Iterator[Row]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _plain(value: Any) -> object:
    """A value without its library: an array as a list, a number as a Python number."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        plain: object = value.tolist()
        return plain
    return value


def _arrow(data: Any, library: str) -> Any:
    """An Arrow table of anything with named columns that exports one, such as a polars DataFrame; else None."""
    if library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
        return data.to_arrow()
    if not (hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")):
        return None
    import pyarrow

    return pyarrow.table(data)


def _arrow_rows(table: Any) -> Iterator[Row]:
    for batch in table.to_batches(max_chunksize=ROWS):
        yield from batch.to_pylist()
