"""Arrow IPC files and streams: `.arrow`, as the datasets library saves them, and `.feather`."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from headatlas.data.dataset import Example, Skipped
from headatlas.data.files import open_bytes
from headatlas.data.reader import Reader
from headatlas.data.rows import ROW_ID, Columns
from headatlas.errors import DataError

__all__ = ["READERS", "arrow"]

FILE, FEATHER_1 = b"ARROW1", b"FEA1"  # how an IPC file (also Feather version 2) and an old Feather file start
CONTINUATION = b"\xff\xff\xff\xff"  # before each message of a stream, but for those written before Arrow 0.15
END = b"\0\0\0\0"  # a message of no length ends a stream
ROWS = 1024  # converted to Python at a time


def arrow(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of an Arrow IPC file or stream, batch by batch."""
    from pyarrow import ArrowException

    try:
        with open_bytes(path) as stream:
            yield from _examples(stream, path, columns)
    except (ArrowException, UnicodeDecodeError, MemoryError) as error:  # a damaged length can ask for any memory
        problem = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path} cannot be read as Arrow: {problem}. Check that it is complete.") from error


def _examples(stream: BinaryIO, path: str, columns: Columns) -> Iterator[Example | Skipped]:
    from pyarrow import ipc

    start = stream.read(len(FILE))
    if start.startswith(FEATHER_1):
        raise DataError(f"{path} is a Feather file of version 1. Write it again as version 2 or as Parquet.")
    stream.seek(0)
    if start == FILE:
        with ipc.open_file(stream) as reader:
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            yield from _picked(reader.schema, batches, path, columns)
    else:
        with ipc.open_stream(stream) as reader:
            yield from _picked(reader.schema, reader, path, columns)
            _check_end(stream, CONTINUATION + END if start.startswith(CONTINUATION) else END, path)


def _picked(schema: Any, batches: Any, path: str, columns: Columns) -> Iterator[Example | Skipped]:
    names = schema.names
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{path} has more than one column {repeated!r}. Give each its own name.")
    yield from columns.pick(names, path).examples(_rows(batches), path)


def _rows(batches: Any) -> Iterator[dict[str, object]]:
    for batch in batches:
        batch.validate(full=True)  # a damaged offset would be followed to anywhere in memory
        for start in range(0, batch.num_rows, ROWS):
            yield from batch.slice(start, ROWS).to_pylist()


def _check_end(stream: BinaryIO, mark: bytes, path: str) -> None:
    """Refuse a stream that was cut between two batches, which otherwise reads like one that ends there."""
    stream.seek(max(0, stream.tell() - len(mark)))
    if stream.read(len(mark)) != mark:
        raise DataError(f"{path} ends without the end-of-stream mark. Check that it is complete.")


READERS = tuple(Reader(suffix, table=arrow, example="a row", id=ROW_ID) for suffix in (".arrow", ".feather"))
