"""Arrow IPC files: `.arrow`, as the datasets library saves them, and `.feather`."""

from collections.abc import Iterator
from typing import Any

from headatlas.data.dataset import Example, Skipped
from headatlas.data.files import open_bytes
from headatlas.data.reader import Reader
from headatlas.data.rows import ROW_ID, Columns
from headatlas.errors import DataError

__all__ = ["READERS", "arrow"]

MAGIC = b"ARROW1"  # the file format starts with it, the stream format does not
ROWS = 1024  # converted to Python at a time


def arrow(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of an Arrow IPC file or stream, batch by batch."""
    from pyarrow import ArrowException, ipc

    try:
        with open_bytes(path) as stream:
            is_file = stream.read(len(MAGIC)) == MAGIC
            stream.seek(0)
            with ipc.open_file(stream) if is_file else ipc.open_stream(stream) as reader:
                picked = columns.pick(reader.schema.names, path)
                yield from picked.examples(_rows(_batches(reader, is_file)), path)
    except (ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as Arrow: {error}. Check that it is complete.") from error


def _batches(reader: Any, is_file: bool) -> Iterator[Any]:
    if is_file:
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _rows(batches: Iterator[Any]) -> Iterator[dict[str, object]]:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            yield from batch.slice(start, ROWS).to_pylist()


READERS = tuple(Reader(suffix, table=arrow, example="a row", id=ROW_ID) for suffix in (".arrow", ".feather"))
