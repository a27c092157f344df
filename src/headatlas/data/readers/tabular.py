"""Tables: JSON lines, CSV, TSV and Parquet, read row by row."""

import csv
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from headatlas.data.csv_numbers import float_columns, numbers
from headatlas.data.dataset import Example, Skipped
from headatlas.data.files import check_utf8, open_bytes, open_text, parse_json
from headatlas.data.reader import Reader
from headatlas.data.rows import ROW_ID, TEXT_NAMES, Columns, Picked, named, python_rows
from headatlas.errors import DataError

__all__ = ["READERS", "comma_separated", "csv_rows", "json_lines", "parquet", "tab_separated"]

Row = dict[str, object]

# pyarrow infers the type of each column from the first block, a row must fit in a block, and about 30 are read ahead:
# with blocks of 4 MB a file of any length needs about 250 MB.
BLOCK = 1 << 22
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


class _Unquoted(csv.excel_tab):
    quoting = csv.QUOTE_NONE


def json_lines(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of a JSON lines file: one object per line."""
    rows = _json_rows(path)
    first = next(rows, None)
    if first is not None:
        yield from columns.pick(list(first), path).examples(chain([first], rows), path)


def _json_rows(path: str) -> Iterator[Row]:
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            row = parse_json(line.rstrip("\n"), path, number)
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise DataError(f'{path}, line {number}: a {kind}, not an object. Use {{"text": …}} on each line.')
            yield row


def parquet(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of a Parquet file."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with open_bytes(path) as stream, ParquetFile(stream) as table:
            picked = columns.pick(table.schema_arrow.names, path)
            yield from picked.examples(python_rows(table.iter_batches(batch_size=1024), path), path)
    except (ArrowException, UnicodeDecodeError, MemoryError) as error:  # a damaged length can ask for any memory
        raise DataError(f"{path} cannot be read as Parquet: {error}. Check that it is complete.") from error


def comma_separated(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of a CSV file; quoted values may contain commas and line breaks."""
    return _separated(path, columns, ",")


def tab_separated(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of a TSV file; quotation marks have no special meaning."""
    return _separated(path, columns, "\t")


def _separated(path: str, columns: Columns, delimiter: str) -> Iterator[Example | Skipped]:
    first = _first_row(path, delimiter)
    if not first:
        return
    headless = _headless(first, columns)
    names = [f"column_{number}" for number in range(1, len(first) + 1)] if headless else first
    picked = columns.pick(names, path, default=_only_text(first, names, columns, path) if headless else None)
    yield from picked.examples(csv_rows(path, delimiter, names if headless else None, picked), path)


def csv_rows(
    path: str, delimiter: str = ",", names: list[str] | None = None, picked: Picked | None = None
) -> Iterator[Row]:
    """Rows with the types that pyarrow infers; picked columns, and integers that no number type can hold, stay text.

    Without `names`, the first row contains the names.
    """
    import pyarrow
    from pyarrow import csv as reader

    texts = [name for name in (picked.text, picked.pair, picked.id) if name] if picked else []
    convert = reader.ConvertOptions(column_types=dict.fromkeys(texts, pyarrow.string()))
    options = {**_csv_options(delimiter, names), "convert_options": convert}
    try:
        with open_bytes(path) as stream, reader.open_csv(stream, **options) as table:
            if any(pyarrow.types.is_binary(column.type) for column in table.schema):
                check_utf8(path)
            floats = float_columns(table.schema)
            if not floats:
                yield from python_rows(table, path)
                return
        convert.column_types = dict.fromkeys([*texts, *floats], pyarrow.string())
        with open_bytes(path) as stream, reader.open_csv(stream, **options) as table:
            yield from python_rows(numbers(table, floats, convert.null_values), path)
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        check_utf8(path)
        raise DataError(f"{path} cannot be read: {error}. {_remedy(str(error), delimiter)}") from error


def _csv_options(delimiter: str, names: list[str] | None) -> dict[str, Any]:
    from pyarrow import csv as reader

    quoted = delimiter == ","
    quotes = {"quote_char": '"' if quoted else False, "newlines_in_values": quoted}
    return {
        "read_options": reader.ReadOptions(use_threads=False, block_size=BLOCK, column_names=names),
        "parse_options": reader.ParseOptions(delimiter=delimiter, **quotes),
    }


def _remedy(problem: str, delimiter: str) -> str:
    if "conversion" in problem or "parse string" in problem:
        return "Column types are inferred from the first 4 MB; save it as .jsonl or .parquet, which store types."
    if delimiter == "\t":
        return "Values in .tsv files are not quoted; if yours are, save it as .csv."
    return "Fix that row: each row needs as many values as the first."


def _first_row(path: str, delimiter: str) -> list[str]:
    dialect: type[csv.Dialect] = csv.excel if delimiter == "," else _Unquoted
    with open_text(path, newline="") as stream:
        try:
            return next((row for row in csv.reader(stream, dialect) if row), [])
        except csv.Error as error:
            raise DataError(f"{path} cannot be read: {error} in its first row. Fix that row.") from error


def _headless(first: list[str], columns: Columns) -> bool:
    """Whether the first row is data: it mixes words and numbers and has no known column name."""
    if named(first, TEXT_NAMES) or columns.text in first or columns.pair in first:
        return False
    numbers = [bool(NUMBER.fullmatch(cell)) for cell in first if cell]
    return any(numbers) and not all(numbers)


def _only_text(first: list[str], names: list[str], columns: Columns, path: str) -> str | None:
    texts = [name for name, cell in zip(names, first, strict=True) if cell and not NUMBER.fullmatch(cell)]
    texts = [name for name in texts if name != columns.pair]
    if columns.text is None and len(texts) > 1:
        raise DataError(
            f"{path} has no header row and more than one text column: {', '.join(texts)}. "
            f"Choose one with text_column={texts[0]!r}."
        )
    return texts[0] if texts else None


READERS = (
    Reader(".jsonl", table=json_lines, example="a row", id=ROW_ID),
    Reader(".csv", table=comma_separated, example="a row", id=ROW_ID),
    Reader(".tsv", table=tab_separated, example="a row", id=ROW_ID),
    Reader(".parquet", table=parquet, example="a row", id=ROW_ID),
)
