"""Load a dataset by name: find the reader of the name, or use a table or texts in memory."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from headatlas.data.dataset import Dataset, Items
from headatlas.data.memory import Memory
from headatlas.data.reader import Reader
from headatlas.data.readers import READERS, forms
from headatlas.data.rows import Columns
from headatlas.data.tables import ACCEPTED, Table, rows_table, table_of
from headatlas.errors import DataError, OptionError

__all__ = ["READERS", "load"]

COMPRESSED = (".gz", ".bz2", ".xz")


@dataclass(frozen=True, slots=True)
class Stored:
    """The examples of one file, folder or hub dataset."""

    reader: Reader
    path: str
    columns: Columns

    def read(self) -> Items:
        """Read from the start."""
        if self.reader.table:
            yield from self.reader.table(self.path, self.columns)
        elif self.reader.plain:
            yield from self.reader.plain(self.path)

    def content(self) -> Iterator[bytes]:
        """The form and columns, then the bytes of the source."""
        yield json.dumps([self.reader.form, self.columns.text, self.columns.pair]).encode()
        yield from self.reader.content(self.path)


def load(
    spec: str | os.PathLike[str] | Iterable[Any],
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    limit: int | None = None,
) -> Dataset:
    """Load a dataset by name, or from a table or texts in memory.

    >>> load("sample", limit=2)
    <Dataset sample: text, limit=2>
    >>> load(["To be, or not to be."]).name
    'memory'
    >>> [example.columns for example in load({"review": ["Fine.", "Dull."], "stars": [4, 1]})]
    [{'stars': 4}, {'stars': 1}]
    >>> load("corpus.docx")
    Traceback (most recent call last):
    headatlas.errors.DataError: 'corpus.docx' is not a dataset in a known form. Use one of: sample, sample:images, \
sample:questions, FILE...; files may be compressed (.gz).

    Parameters
    ----------
    spec : str, path, table or iterable
        A name in one of the forms listed in docs/data.md; a pandas or polars DataFrame, pyarrow Table, Hugging Face
        Dataset or dict of columns; or texts, dicts, (text, pair) tuples or `Example` objects.
    text_column, pair_column : str, optional
        Columns of a table, or keys of dicts, that contain the text and the second text of a pair.
    limit : int, optional
        Read only the first examples.

    Returns
    -------
    dataset : Dataset
        Reads its examples each time it is iterated.
    """
    columns = Columns(text_column, pair_column)
    if isinstance(spec, str | os.PathLike):
        return _stored(os.fspath(spec), columns, limit)
    if isinstance(spec, Dataset):
        _check_unused(columns)
        return spec if limit is None else spec.limited(limit)
    source = table_of(spec, columns) or _listed(spec, columns)
    return Dataset("memory", source, modality=source.modality, limit=limit)


def _listed(items: Any, columns: Columns) -> Table | Memory:
    """The source of texts, dicts or examples one after another."""
    # A set has another order in every process.
    if isinstance(items, bytes | bytearray | set | frozenset) or not isinstance(items, Iterable):
        raise DataError(f"A dataset cannot be made from {type(items).__name__}. Pass {ACCEPTED}.")
    stored = list(items)
    if stored and all(isinstance(item, Mapping) for item in stored):
        return rows_table(stored, columns)
    _check_unused(columns)
    return Memory(stored)


def _check_unused(columns: Columns) -> None:
    if columns != Columns():
        raise OptionError(
            "text_column and pair_column are for tables; pass Example objects with text and pair instead."
        )


def _stored(spec: str, columns: Columns, limit: int | None) -> Dataset:
    reader, path = _resolve(spec)
    if columns != Columns() and not reader.table:
        raise OptionError(f"{reader.form} has fixed columns. Omit text_column and pair_column.")
    reader.check(path)
    source = Stored(reader, path, columns)
    return Dataset(
        spec, source, modality=reader.modality, window=reader.window, group=reader.group,
        limit=reader.usual if limit is None else limit,
    )  # fmt: skip


def _resolve(spec: str) -> tuple[Reader, str]:
    """The reader of a name, and the path to read."""
    prefix, _, path = spec.partition(":")
    # "memory://x.txt" is an address, not a prefix.
    prefixed = READERS.get(f"{prefix}:") if path and not path.startswith("//") else None
    if prefixed:
        return prefixed, path
    if (named := READERS.get(spec)) and named.fixed:
        return named, named.fixed
    name = PurePosixPath(spec)
    suffix = (PurePosixPath(name.stem) if name.suffix.lower() in COMPRESSED else name).suffix.lower()
    if suffix in READERS:
        return READERS[suffix], spec
    raise DataError(f"{spec!r} is not a dataset in a known form. Use one of: {forms()}; files may be compressed (.gz).")
