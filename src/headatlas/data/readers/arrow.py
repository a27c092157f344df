"""Arrow IPC files and streams: `.arrow`, as the datasets library saves them, and `.feather`."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, BinaryIO

from headatlas.data.dataset import Example, Skipped
from headatlas.data.files import open_bytes
from headatlas.data.reader import Reader
from headatlas.data.rows import ROW_ID, Columns, python_rows
from headatlas.errors import DataError

__all__ = ["READERS", "arrow", "check_arrow"]

FILE, FEATHER_1 = b"ARROW1", b"FEA1"  # how an IPC file (also Feather version 2) and an old Feather file start
CONTINUATION = b"\xff\xff\xff\xff"  # before each message of a stream, but for those written before Arrow 0.15
END = b"\0\0\0\0"  # a message of no length ends a stream


def arrow(path: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of an Arrow IPC file or stream, batch by batch."""
    with _opened(path) as (schema, batches):
        yield from columns.pick(schema.names, path).examples(python_rows(batches, path), path)


@lru_cache(maxsize=1024)
def check_arrow(path: str, size: int, changed: int) -> None:
    """Raise an error if an Arrow file, of this size and time of change, is cut or damaged. Reads all of it once."""
    with _opened(path) as (_, batches):
        for batch in batches:
            batch.validate(full=True)


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches of a file or stream."""
    from pyarrow import ArrowException, ipc

    try:
        with open_bytes(path) as stream:
            start = stream.read(len(FILE))
            if start.startswith(FEATHER_1):
                raise DataError(f"{path} is a Feather file of version 1. Write it again as version 2 or as Parquet.")
            stream.seek(0)
            with (ipc.open_file if start == FILE else ipc.open_stream)(stream) as reader:
                yield reader.schema, _batches(reader, stream, start, path)
    except (ArrowException, UnicodeDecodeError, MemoryError) as error:  # a damaged length can ask for any memory
        problem = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path} cannot be read as Arrow: {problem}. Check that it is complete.") from error


def _batches(reader: Any, stream: BinaryIO, start: bytes, path: str) -> Iterator[Any]:
    if start == FILE:
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        yield from reader
        _check_end(stream, CONTINUATION + END if start.startswith(CONTINUATION) else END, path)


def _check_end(stream: BinaryIO, mark: bytes, path: str) -> None:
    """Refuse a stream that was cut between two batches, which otherwise reads like one that ends there."""
    stream.seek(max(0, stream.tell() - len(mark)))
    if stream.read(len(mark)) != mark:
        raise DataError(f"{path} ends without the end-of-stream mark. Check that it is complete.")


READERS = tuple(Reader(suffix, table=arrow, example="a row", id=ROW_ID) for suffix in (".arrow", ".feather"))
