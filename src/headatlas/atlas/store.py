"""Atlas: a handle on a folder of arrays and tables. It reads, writes and prints itself; it analyses nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.blocks import block_size
from headatlas.atlas.files import Files
from headatlas.errors import DamagedChunk, StoreError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

HEADER = "atlas.json"


class Atlas:
    """What is known of every head of a model on a dataset. Open one with `Atlas.open(path)`."""

    def __init__(self, files: Files, header: dict[str, Any]) -> None:
        self.files = files
        self.header = header
        self._arrays: dict[str, Any] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Atlas:
        """Open an atlas: a local folder or any fsspec URL."""
        files = Files(path)
        if not files.exists():
            raise StoreError(f"there is no atlas at {files.url}. Make one: headatlas collect MODEL DATA -o {files.url}")
        if not files.exists(HEADER):
            raise StoreError(f"{files.url} is not an atlas: it has no {HEADER}")
        try:
            header = json.loads(files.read(HEADER))
            version = header["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{files.url}/{HEADER} is damaged: {error}. Restore it, or collect anew elsewhere"
            ) from error
        if version != schema.FORMAT:
            advice = "update headatlas" if version > schema.FORMAT else "collect it anew with this version"
            raise StoreError(f"{files.url} has format {version}, this version reads format {schema.FORMAT}: {advice}")
        return cls(files, header)

    @classmethod
    def create(cls, path: str | os.PathLike[str], header: Mapping[str, Any]) -> Atlas:
        """Begin an atlas in a folder that is new or empty."""
        files = Files(path)
        with files.guard():
            strangers = [name for name in files.names() if not name.endswith(".partial")]
        if strangers:
            raise StoreError(
                f"{files.url} is not an atlas and not empty (it holds {strangers[0]}). Choose another place with -o"
            )
        atlas = cls(files, {"format": schema.FORMAT, **header})
        atlas.write_header()
        return atlas

    def refresh(self) -> None:
        """Read atlas.json again: another process may have finished something meanwhile."""
        self.header = json.loads(self.files.read(HEADER))

    def write_header(self) -> None:
        """Write atlas.json."""
        self.files.write(
            HEADER, (json.dumps(self.header, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
        )

    # arrays

    def _store(self, stage: str) -> Any:
        from zarr.storage import FsspecStore, LocalStore

        if self.files.local:
            return LocalStore(self.files.path(f"{stage}.zarr"))
        return FsspecStore.from_url(f"{self.files.url}/{stage}.zarr")

    def create_array(
        self, name: str, sizes: Mapping[str, int], block: int, attributes: Mapping[str, Any], of: str | None = None
    ) -> None:
        """Lay out an array, its first axis in blocks; nothing is done if it is there already."""
        import zarr
        from zarr.codecs import BloscCodec, BloscShuffle, Crc32cCodec

        spec = schema.array(name)
        if self.files.exists(f"{spec.path(of)}/zarr.json"):
            return
        shape = tuple(sizes[axis] for axis in spec.axes)
        whole = (block, *shape[1:])
        piece = tuple(1 if axis in spec.pieces else size for axis, size in zip(spec.axes, whole, strict=True))
        size = np.dtype(spec.dtype).itemsize
        with self.files.guard(f"{spec.stage}.zarr"):
            zarr.create_array(
                self._store(spec.stage),
                name=spec.inside(of),
                shape=shape,
                dtype=spec.dtype,
                chunks=piece,
                shards=whole if piece != whole else None,
                compressors=[
                    BloscCodec(typesize=size, cname="zstd", clevel=1, shuffle=BloscShuffle.bitshuffle),
                    Crc32cCodec(),
                ],
                fill_value=float("nan") if spec.dtype.startswith("float") else schema.MISSING,
                attributes={**attributes, "note": spec.note},
                dimension_names=spec.axes,
                config={"write_empty_chunks": True},
            )

    def array(self, name: str, of: str | None = None) -> Any:
        """An array, lazily: index it to read. Prefer `read`, which names what is damaged."""
        import zarr

        spec = schema.array(name)
        of = of or self.latest(spec.stage)
        path = spec.path(of)
        if path not in self._arrays:
            if not self.files.exists(f"{path}/zarr.json"):
                what = name if of is None else f"{name} of {of}"
                raise StoreError(f"{self.files.url} has no {what}. Run `{self.command(spec.stage)}` first")
            array = zarr.open_array(self._store(spec.stage), path=spec.inside(of), mode="r+")
            self._arrays[path] = array.with_config({"write_empty_chunks": True})
        return self._arrays[path]

    def read(self, name: str, selection: Any = ..., of: str | None = None) -> NDArray[Any]:
        """Part of an array, read and checked; `of` names the result, the latest if it is not given."""
        spec = schema.array(name)
        array = self.array(name, of)
        try:
            return np.asarray(array[selection])
        except (ValueError, RuntimeError) as error:
            if isinstance(error, IndexError) or "bound" in str(error):
                raise
            raise DamagedChunk(
                f"{self.files.url}/{spec.stage}.zarr/{name} is damaged ({error}). "
                f"Run the `headatlas {spec.stage}` command that made it again: it finds and recomputes the damaged part"
            ) from error

    def write_blocks(self, name: str, start: int, values: NDArray[Any], of: str | None = None) -> list[str]:
        """Write whole blocks of an array from index `start` on; gives the files that hold them, one a block."""
        spec, array = schema.array(name), self.array(name, of)
        size = block_size(array)
        stop = start + len(values)
        assert start % size == 0 and (stop % size == 0 or stop == array.shape[0]), "a block is written whole"
        folder = f"{spec.stage}.zarr/{array.path}"
        with self.files.guard(folder):
            array[start:stop] = values
        rest = "/0" * (len(spec.axes) - 1)
        return [f"{folder}/c/{number}{rest}" for number in range(start // size, -(-stop // size))]

    # tables

    def table(self, name: str, of: str | None = None, **options: Any) -> pa.Table:
        """A table, whole or, by `columns=`, in part; `of` names the result, the latest if it is not given."""
        import pyarrow.parquet as pq

        with self._table_file(name, of) as file:
            return pq.read_table(file, **options)

    def table_groups(
        self, name: str, groups: list[int] | None = None, columns: list[str] | None = None
    ) -> pa.Table:  # fmt: skip
        """Some row groups of a table, or all; and all its columns, or some."""
        import pyarrow.parquet as pq

        with self._table_file(name) as file:
            opened = pq.ParquetFile(file)
            return opened.read(columns) if groups is None else opened.read_row_groups(groups, columns)

    @contextmanager
    def _table_file(self, name: str, of: str | None = None) -> Iterator[Any]:
        import pyarrow as pa

        names = [one.name for one in schema.TABLES]
        if name not in names:
            raise StoreError(f"there is no table {name!r}; the tables are: {', '.join(names)}")
        spec = schema.table(name)
        of = of or self.latest(spec.stage)
        path = spec.path(of)
        if not self.files.exists(path):
            what = name if of is None else f"{name} of {of}"
            command = self.command(spec.stage) + (" --sweep" if name == "sweep" else "")
            raise StoreError(f"{self.files.url} has no table {what} yet. Run `{command}` first")
        try:
            with self.files.system.open(self.files.path(path), "rb") as file:
                yield file
        except (pa.ArrowInvalid, OSError) as error:
            raise DamagedChunk(
                f"{self.files.url}/{path} is damaged ({str(error).splitlines()[0]}). "
                f"Run the `headatlas {spec.stage}` command that made it again: it is made anew"
            ) from error

    @contextmanager
    def writing_table(self, name: str, fields: pa.Schema, of: str | None = None) -> Iterator[pq.ParquetWriter]:
        """A writer to which row groups are given one by one; the table appears when the block ends well."""
        import pyarrow.parquet as pq

        with (
            self.files.writing(schema.table(name).path(of)) as file,
            pq.ParquetWriter(file, fields, compression="zstd") as writer,
        ):
            yield writer

    def write_table(self, name: str, table: pa.Table, of: str | None = None) -> None:
        """Replace a table."""
        with self.writing_table(name, table.schema, of) as writer:
            writer.write_table(table)

    def tables(self) -> list[str]:
        """Names of the tables that are there."""
        return [one.name for one in schema.TABLES if self._found(one)]

    def arrays(self) -> list[str]:
        """Names of the arrays that are there."""
        return [one.name for one in schema.ARRAYS if self._found(one, "/zarr.json")]

    def _found(self, one: schema.Array | schema.Table, file: str = "") -> bool:
        return any(self.files.exists(one.path(of) + file) for of in (None, *self.results(one.stage)))

    def forget(self, folder: str) -> None:
        """Delete a folder of the atlas."""
        self.files.remove(folder)
        self._arrays = {path: array for path, array in self._arrays.items() if not path.startswith(f"{folder}/")}

    # results: a stage other than collect can be run many times, each result under a name of its own

    def results(self, stage: str) -> dict[str, Any]:
        """The finished results of a stage by name, the latest last."""
        there = self.header.get("stages", {}).get(stage, {}).get("results", [])
        return {one["name"]: one for one in there if one["done"]}

    def latest(self, stage: str) -> str | None:
        """The name of the latest finished result; None if there is none, or the stage has but one."""
        return next(reversed(self.results(stage)), None)

    def command(self, stage: str) -> str:
        """The command that makes what is missing."""
        rest = "MODEL DATA -o " if stage == "collect" else ""
        return f"headatlas {stage} {rest}{self.files.url}"

    # receipts: a piece of work counts as done when its receipt is there and the files match it

    def write_receipt(self, stage: str, task: str, names: list[str], facts: Mapping[str, Any] | None = None) -> None:
        """Vouch for finished files."""
        digests = {name: self.files.digest(name) for name in names}
        receipt = {"files": digests, "facts": dict(facts or {})}
        self.files.write(f"receipts/{stage}/{task}.json", json.dumps(receipt, sort_keys=True).encode())

    def receipt(self, stage: str, task: str) -> dict[str, Any] | None:
        """The receipt of a task, None if it is not finished; raises DamagedChunk if its files have changed since."""
        name = f"receipts/{stage}/{task}.json"
        if not self.files.exists(name):
            return None
        try:
            receipt: dict[str, Any] = json.loads(self.files.read(name))
            files = receipt["files"].items()
        except (ValueError, KeyError, AttributeError):
            raise DamagedChunk(f"{self.files.url}/{name} is damaged") from None
        for file, digest in files:
            if self.files.digest(file) != digest:
                what = "does not match its checksum" if self.files.exists(file) else "is missing"
                raise DamagedChunk(f"{self.files.url}/{file} {what}")
        return receipt

    # what is there, for people

    @property
    def done(self) -> list[str]:
        """Names of the stages that are complete."""
        stages = self.header.get("stages", {})
        return [stage for stage in schema.STAGES if stages.get(stage, {}).get("done") or self.results(stage)]

    def __str__(self) -> str:
        from headatlas.atlas.display import text

        return text(self)

    def __repr__(self) -> str:
        return f"Atlas.open({self.files.url!r})"

    def _repr_html_(self) -> str:
        from headatlas.atlas.display import html

        return html(self)
