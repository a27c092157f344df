"""Atlas: a handle on a folder of arrays and tables. It reads, and prints itself; it analyzes nothing.

A handle sees the atlas as it was when it was opened or last refreshed: a result that another process replaces meanwhile
is never read in part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import checksums, header, lock, schema
from headatlas.atlas.files import Files
from headatlas.atlas.header import HEADER, PATIENCE
from headatlas.errors import DamagedChunk, OptionError, ReplacedError, StoreError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TRIES = 3

Entry = dict[str, Any]  # a result in atlas.json: name, key, recipe, done, facts
Value = TypeVar("Value")


class Atlas:
    """What is known of every head of a model on a dataset. Open one with `Atlas.open(path)`."""

    def __init__(self, files: Files, facts: dict[str, Any]) -> None:
        self.files = files
        self.header = facts
        self.unfinished: set[tuple[str, str]] = set()  # stage and key of results that are read while they are written
        self._arrays: dict[str, Any] = {}
        self._checksums: dict[str, dict[str, checksums.Checksum]] = {}  # by the folder of the manifests

    @classmethod
    def open(cls, path: AtlasLike) -> Atlas:
        """Open an atlas: a local folder or any fsspec URL. An atlas that is open already is returned."""
        if isinstance(path, Atlas):
            return path
        files = Files(path)
        if not files.exists():
            raise StoreError(f"there is no atlas at {files.url}. Make one: {schema.command('collect', files.url)}")
        if not files.exists(HEADER):
            raise StoreError(f"{files.url} is not an atlas: it has no {HEADER}")
        return cls(files, header.read(files))

    @classmethod
    def create(cls, path: str | os.PathLike[str], facts: Mapping[str, Any]) -> Atlas:
        """Create an atlas in a folder that is new or empty."""
        files = Files(path)
        with lock.hold(files, "atlas", wait=PATIENCE):
            if files.exists(HEADER):
                return cls.open(path)  # another process was faster
            header.check_empty(files)
            atlas = cls(files, {"format": schema.FORMAT, "results": {}, **facts})
            header.write(files, atlas.header)
        return atlas

    def refresh(self) -> None:
        """Read atlas.json again: another process may have finished something meanwhile."""
        self.header = header.read(self.files)

    @contextmanager
    def editing(self) -> Iterator[dict[str, Any]]:
        """Change atlas.json: the header as it is now, locked for other writers until the block ends."""
        with lock.hold(self.files, "atlas", wait=PATIENCE):
            self.refresh()
            yield self.header
            header.write(self.files, self.header)

    # results

    def entries(self, stage: str) -> list[Entry]:
        """All results of a stage, unfinished ones included, the latest last."""
        entries: list[Entry] = self.header["results"].get(stage, [])
        return entries

    def results(self, stage: str) -> dict[str, Entry]:
        """The finished results of a stage by name, the latest last."""
        return {
            entry["name"]: entry
            for entry in self.entries(stage)
            if entry["done"] or (stage, entry["key"]) in self.unfinished
        }

    def latest(self, stage: str) -> str | None:
        """The name of the latest finished result; None if there is none."""
        return next(reversed(self.results(stage)), None)

    def needed(self, stage: str, of: str | None = None) -> str:
        """The name of a finished result that is needed: the latest, or the one called `of`; else how to make it."""
        results = self.results(stage)
        if stage == schema.COLLECT and not results:
            raise StoreError(f"{self.files.url} is not complete. Run its `headatlas collect` command again to continue")
        if of is not None and of not in results:
            available = f"it has {', '.join(results)}" if results else f"make it with `{self.command(stage)}`"
            raise StoreError(f"{self.files.url} has no {stage} result called {of!r}: {available}")
        name = of or self.latest(stage)
        if name is None:
            raise StoreError(f"{self.files.url} has no {stage} yet. Run `{self.command(stage)}` first")
        return name

    def facts(self, stage: str, of: str | None = None) -> dict[str, Any]:
        """The facts recorded when a result was finished."""
        facts: dict[str, Any] = self.results(stage)[self.needed(stage, of)]["facts"]
        return facts

    def source(self, stage: str, of: str) -> str | None:
        """The name of the result that this one was made from; None if it was made from the collection alone."""
        return source_of(self.results(stage)[of], stage)

    @property
    def collection(self) -> dict[str, Any]:
        """The facts recorded with the collection: counts, examples in a block, names of the statistics."""
        return self.facts(schema.COLLECT)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the collection."""
        options: dict[str, Any] = self.entries(schema.COLLECT)[0]["recipe"]["options"]
        return options

    @property
    def done(self) -> list[str]:
        """Names of the stages that have a finished result."""
        return [stage for stage in schema.STAGES if self.results(stage)]

    def command(self, stage: str) -> str:
        """The command that makes what is missing."""
        return schema.command(stage, self.files.url)

    def folder(self, stage: str, of: str | None = None) -> str | None:
        """The folder of a finished result within its stage; None if there is no such result."""
        entry = self.results(stage).get(of or self.latest(stage) or "")
        return None if entry is None else folder_of(stage, entry)

    # arrays

    def array(self, name: str, of: str | None = None) -> Any:
        """An array, lazily: index it to read. Prefer `read`, which names what is damaged."""
        from headatlas.atlas import zarr_arrays

        spec = schema.ARRAYS[name]
        folder = self.folder(spec.stage, of)
        path = spec.path(folder or "")
        if folder is None or not (path in self._arrays or self.files.exists(f"{path}/zarr.json")):
            self._check_current(spec.stage, of)
            what = name if of is None else f"{name} of {of}"
            raise StoreError(f"{self.files.url} has no {what}. Run `{self.command(spec.stage)}` first")
        if path not in self._arrays:
            self._verify(f"{path}/zarr.json", spec.stage, of)
            try:
                self._arrays[path] = zarr_arrays.open_for_reading(self.files, spec, folder)
            except Exception as error:  # zarr raises different errors for each kind of damage
                self._check_current(spec.stage, of)
                raise self._damaged(f"{path}/zarr.json", error, spec.stage) from error
        return self._arrays[path]

    def read(self, name: str, selection: Any = ..., of: str | None = None) -> NDArray[Any]:
        """Part of an array, read and checked; `of` names the result, the latest if it is not given."""
        entire = selection is ...
        return self.consistent(lambda: self._read(name, selection, of), again=entire)

    def _read(self, name: str, selection: Any, of: str | None) -> NDArray[Any]:
        spec = schema.ARRAYS[name]
        try:
            return np.asarray(self.array(name, of)[selection])
        except FileNotFoundError as error:
            self._check_current(spec.stage, of)
            raise self._damaged(f"{spec.stage}.zarr/{name}", error, spec.stage) from error
        except (ValueError, RuntimeError) as error:
            if isinstance(error, IndexError) or "bound" in str(error):
                raise
            raise self._damaged(f"{spec.stage}.zarr/{name}", error, spec.stage) from error

    def arrays(self) -> list[str]:
        """Names of the arrays that exist."""
        return [name for name, array in schema.ARRAYS.items() if self._exists(array, "/zarr.json")]

    def holder(self, name: str) -> str | None:
        """The latest finished result that has an array: not every result of a stage has all of them."""
        spec = schema.ARRAYS[name]
        results = self.results(spec.stage).items()
        holders = [
            of for of, entry in results if self.files.exists(f"{spec.path(folder_of(spec.stage, entry))}/zarr.json")
        ]
        return holders[-1] if holders else None

    # tables

    def table(self, name: str, of: str | None = None, **options: Any) -> pa.Table:
        """A table, whole or, by `columns=`, in part; `of` names the result, the latest if it is not given."""
        import pyarrow.parquet as pq

        def read() -> pa.Table:
            with self._table_file(name, of) as file:
                return pq.read_table(file, page_checksum_verification=True, **options)

        return self.consistent(read)

    def table_groups(self, name: str, groups: list[int] | None = None, columns: list[str] | None = None) -> pa.Table:
        """Some row groups of a table, or all; and all its columns, or some."""
        import pyarrow.parquet as pq

        with self._table_file(name) as file:
            opened = pq.ParquetFile(file, page_checksum_verification=True)
            return opened.read(columns) if groups is None else opened.read_row_groups(groups, columns)

    def table_columns(self, name: str, of: str | None = None) -> list[str]:
        """Names of the columns of a table, which is not read."""
        import pyarrow.parquet as pq

        with self._table_file(name, of) as file:
            names: list[str] = pq.read_schema(file).names
            return names

    def table_parts(self, name: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """A table from its first row to its last, a row group at a time."""
        import pyarrow.parquet as pq

        with self._table_file(name) as file:
            opened = pq.ParquetFile(file, page_checksum_verification=True)
            for group in range(opened.num_row_groups):
                yield opened.read_row_group(group, columns)

    def stats(
        self, *, layers: int | Sequence[int] | None = None, examples: int | Sequence[int] | None = None
    ) -> pd.DataFrame:
        """The statistics of every map as one pandas DataFrame, a row per map, with the columns of the dataset.

        >>> import headatlas as ha
        >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://stats.atlas")
        >>> int(atlas.stats(layers=0).groupby("head")["previous"].mean().idxmax())  # L0·H2: previous token
        2

        Parameters
        ----------
        layers, examples : int or sequence of int, optional
            Read only these; the table of a large atlas may not fit in memory.
        """
        import pyarrow as pa

        from headatlas.atlas.stats_table import stats_parts

        try:
            import pandas  # noqa: F401 - pyarrow needs it below
        except ImportError as error:
            raise OptionError("stats() returns a pandas DataFrame. Run: pip install pandas") from error
        return pa.concat_tables(stats_parts(self, layers=layers, examples=examples)).to_pandas(self_destruct=True)

    def notes(self) -> dict[str, Any]:
        """Names, notes and selections that a person wrote on the page, as plain lists."""
        from headatlas.atlas import notes

        return notes.as_dict(self)

    def has_array(self, name: str, of: str | None = None) -> bool:
        """Whether an array exists."""
        spec = schema.ARRAYS[name]
        folder = self.folder(spec.stage, of)
        return folder is not None and self.files.exists(f"{spec.path(folder)}/zarr.json")

    def has_table(self, name: str, of: str | None = None) -> bool:
        """Whether a table exists."""
        spec = schema.TABLES[name]
        folder = self.folder(spec.stage, of or spec.result)
        return folder is not None and self.files.exists(spec.path(folder))

    def tables(self) -> list[str]:
        """Names of the tables that exist."""
        return [name for name, table in schema.TABLES.items() if self._exists(table)]

    @contextmanager
    def _table_file(self, name: str, of: str | None = None) -> Iterator[Any]:
        import pyarrow as pa

        if name not in schema.TABLES:
            raise StoreError(f"there is no table {name!r}; the tables are: {', '.join(schema.TABLES)}")
        spec = schema.TABLES[name]
        of = of or spec.result or None
        if not self.has_table(name, of):
            self._check_current(spec.stage, of)
            raise StoreError(self._missing_table(spec, of))
        path = spec.path(self.folder(spec.stage, of) or "")
        self._verify(path, spec.stage, of)
        try:
            with self.files.system.open(self.files.path(path), "rb") as file:
                yield file
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError, MemoryError) as error:
            self._check_current(spec.stage, of)
            raise self._damaged(path, error, spec.stage) from error

    def _missing_table(self, spec: schema.Table, of: str | None) -> str:
        """What is missing, and how to get it: not every result of a stage has all its tables."""
        others = [name for name in self.results(spec.stage) if self.has_table(spec.name, name)]
        if others:
            result = f"{spec.stage} {of or self.latest(spec.stage)} of {self.files.url}"
            return f"{result} has no table {spec.name}. Choose a result that has it: {', '.join(others)}"
        what = spec.name if of in (None, spec.result) else f"{spec.name} of {of}"
        return f"{self.files.url} has no table {what} yet. Run `{self.command(spec.stage)}` first"

    # checksums

    def file(self, stage: str, name: str, of: str | None = None) -> bytes | None:
        """The checked content of a file beside the tables of a finished result; None if it has no such file."""

        def read() -> bytes | None:
            path = f"{stage}/{self.folder(stage, of)}/{name}"
            if self.files.exists(path):
                self._verify(path, stage, of)
            content = self.files.find(path)
            if content is None:
                self._check_current(stage, of)
            return content

        return self.consistent(read)

    def _verify(self, path: str, stage: str, of: str | None) -> None:
        """Raise DamagedChunk if a file of a finished result is not as it was written."""
        entry = self.results(stage)[of or self.latest(stage) or ""]
        if (stage, entry["key"]) in self.unfinished:
            return  # a repair may have replaced it
        manifests = checksums.manifest_folder(stage, folder_of(stage, entry))
        for reread in (False, True):  # another process may have repaired it
            if reread or manifests not in self._checksums:
                self._checksums[manifests] = checksums.recorded(self.files, manifests)
            expected = self._checksums[manifests].get(path)
            fault = None if expected is None else checksums.fault(self.files, path, expected)
            if fault is None:
                return
        self._check_current(stage, of)
        raise self._damaged(path, StoreError(f"it {fault}"), stage)

    # results that other processes replace

    def consistent(self, read: Callable[[], Value], *, again: bool = True) -> Value:
        """What `read` returns. With `again`, a result that was replaced meanwhile is read again."""
        for _ in range(TRIES - 1 if again else 0):
            try:
                return read()
            except ReplacedError:
                self.refresh()
        return read()

    def _check_current(self, stage: str, of: str | None) -> None:
        """Raise ReplacedError if a result is no longer where this handle expects it."""
        expected = self.folder(stage, of)
        if expected is not None and Atlas.open(self.files.url).folder(stage, of) != expected:
            raise ReplacedError(
                f"{stage} {of or self.latest(stage)} of {self.files.url} was replaced while it was being read. "
                "Run the same command again"
            )

    def _damaged(self, path: str, error: Exception, stage: str) -> DamagedChunk:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        command = f"headatlas {schema.STAGES[stage].command or stage}"
        return DamagedChunk(
            f"{self.files.url}/{path} is damaged ({reason}). "
            f"Run the `{command}` command that made it again: it finds and recomputes the damaged part"
        )

    def _exists(self, spec: schema.Array | schema.Table, file: str = "") -> bool:
        folders = [folder_of(spec.stage, entry) for entry in self.entries(spec.stage)]
        return any(self.files.exists(spec.path(folder) + file) for folder in folders)

    # representations

    def __str__(self) -> str:
        from headatlas.atlas.display import text

        return self.consistent(lambda: text(self))

    def __repr__(self) -> str:
        return f"Atlas.open({self.files.url!r})"

    def _repr_html_(self) -> str:
        from headatlas.atlas.display import html

        return html(self)


AtlasLike = Atlas | str | os.PathLike[str]  # what public functions accept, and `Atlas.open` resolves


def folder_of(stage: str, entry: Entry) -> str:
    """The folder of a result within its stage."""
    return "" if stage == schema.COLLECT else f"{entry['name']}/{entry['key']}"


def source_of(entry: Entry, stage: str) -> str | None:
    """The name of the result that an entry of atlas.json was made from."""
    inputs = entry["recipe"]["inputs"]
    return next((inputs[name].partition("/")[0] for name in schema.STAGES[stage].inputs if name in inputs), None)
