"""What a stage writes: the arrays, tables and files of one result, and a manifest for every finished piece of work.

A manifest lists the files of a piece of work with their checksums. A piece counts as done when its manifest is there
and its files match the checksums.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from headatlas.atlas import lock, schema
from headatlas.atlas.checksums import MANIFESTS, fault, read_manifest, recorded
from headatlas.atlas.header import PATIENCE
from headatlas.atlas.store import Atlas
from headatlas.errors import DamagedChunk

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headatlas.atlas.zarr_arrays import Cut

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a result is written: everything that a worker in another process needs to know."""

    url: str
    stage: str
    name: str
    key: str

    @property
    def folder(self) -> str:
        """Its folder within the stage."""
        return "" if self.stage == schema.COLLECT else f"{self.name}/{self.key}"

    @property
    def folders(self) -> list[str]:
        """The folders of its arrays, its tables and its manifests, in the order in which they can be deleted."""
        return [f"{kind}/{self.folder}".rstrip("/") for kind in kinds(self.stage)]


def kinds(stage: str) -> list[str]:
    """The folders of a stage: manifests, arrays, tables and files. Without its manifests a result is unfinished."""
    return [f"{MANIFESTS}/{stage}", f"{stage}.zarr", stage]


def block_name(number: int) -> str:
    """The name of a block in manifests."""
    return f"block-{number:06d}"


def key_of(recipe: Mapping[str, Any]) -> str:
    """The key of a result: the same recipe gives the same key.

    >>> key_of({"options": {"k": 3}})
    'b9b58050'
    """
    text = json.dumps(recipe, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Writer:
    """Writes one result. Its `atlas` sees this result though it is unfinished."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._cuts: dict[str, Cut] = {}
        self._written: dict[str, tuple[str, int]] = {}  # checksum and bytes of blocks, until their manifest has them

    @cached_property
    def atlas(self) -> Atlas:
        """A handle that can read what was written so far."""
        atlas = Atlas.open(self.place.url)
        atlas.unfinished = {(self.place.stage, self.place.key)}
        return atlas

    # arrays

    def create_array(
        self, name: str, sizes: Mapping[str, int], block: int, attributes: Mapping[str, Any] | None = None
    ) -> None:
        """Create an array, its first axis cut in blocks; does nothing if it exists."""
        from headatlas.atlas import zarr_arrays

        spec, files = schema.ARRAYS[name], self.atlas.files
        metadata = f"{spec.path(self.place.folder)}/zarr.json"
        if files.exists(metadata):
            if self._is_intact(spec, metadata) and all(files.exists(name) for name in self.groups):
                return
            files.remove(metadata)  # the same is written again; blocks stay
        with files.guard(f"{spec.stage}.zarr"), lock.hold(files, "atlas", wait=PATIENCE):  # results share groups
            zarr_arrays.create(files, spec, self.place.folder, sizes, block, attributes or {})

    @property
    def groups(self) -> list[str]:
        """The files with the metadata of the Zarr groups that hold its arrays, the outermost first."""
        parts = schema.STAGES[self.place.stage].arrays[0].path(self.place.folder).split("/")
        return ["/".join([*parts[:end], "zarr.json"]) for end in range(1, len(parts))]

    def sweep(self) -> None:
        """Delete what a killed writer of this result left half written; only its lock holder may do this."""
        files, declared = self.atlas.files, schema.STAGES[self.place.stage]
        for folder in self.place.folders:
            files.sweep(folder)
        for table in declared.tables:
            files.sweep_partial(table.path(self.place.folder))
        if declared.arrays:
            with lock.hold(files, "atlas", wait=PATIENCE):
                for name in self.groups:
                    files.sweep_partial(name.removesuffix(".json"))

    def _is_intact(self, spec: schema.Array, metadata: str) -> bool:
        """Whether the metadata of an array match their checksum, or at least can be read."""
        from headatlas.atlas import zarr_arrays

        expected = recorded(self.atlas.files, self.place.folders[0]).get(metadata)
        if expected is not None:
            return fault(self.atlas.files, metadata, expected) is None
        try:
            zarr_arrays.open_for_reading(self.atlas.files, spec, self.place.folder)
        except Exception:  # zarr raises different errors for each kind of damage
            return False
        return True

    def metadata(self) -> list[str]:
        """The files with the metadata of its arrays."""
        arrays = schema.STAGES[self.place.stage].arrays
        names = [f"{array.path(self.place.folder)}/zarr.json" for array in arrays]
        return [name for name in names if self.atlas.files.exists(name)]

    def write_blocks(self, name: str, start: int, values: NDArray[Any]) -> list[str]:
        """Write whole blocks of an array from index `start` on; returns the files that hold them, one per block."""
        from headatlas.atlas.block_bytes import block_bytes

        spec, cut = schema.ARRAYS[name], self._cut(name)
        size, stop = cut.block[0], start + len(values)
        assert start % size == 0 and (stop % size == 0 or stop == cut.shape[0]), "a block is written whole"
        values = values.astype(spec.dtype, copy=False)
        folder = spec.path(self.place.folder)
        names = [f"{folder}/{cut.name(number)}" for number in range(start // size, -(-stop // size))]
        for place, name in enumerate(names):
            part = values[place * size : (place + 1) * size]
            content = block_bytes(part, cut.block, cut.piece, spec.fill_value, spec.compressor)
            self.atlas.files.write(name, content)
            self._written[name] = hashlib.sha256(content).hexdigest(), len(content)
        return names

    def _cut(self, name: str) -> Cut:
        from headatlas.atlas import zarr_arrays

        if name not in self._cuts:
            self._cuts[name] = zarr_arrays.read_cut(self.atlas.files, schema.ARRAYS[name], self.place.folder)
        return self._cuts[name]

    # tables and other files

    @contextmanager
    def writing_table(self, name: str, fields: pa.Schema) -> Iterator[pq.ParquetWriter]:
        """A writer that takes row groups one by one; the table appears when the block ends without an error."""
        import pyarrow.parquet as pq

        with (
            self.atlas.files.writing(schema.TABLES[name].path(self.place.folder)) as file,
            pq.ParquetWriter(file, fields, compression="zstd", write_page_checksum=True) as writer,
        ):
            yield writer

    def write_table(self, name: str, table: pa.Table) -> str:
        """Write or replace a table; returns its path in the atlas."""
        with self.writing_table(name, table.schema) as writer:
            writer.write_table(table)
        return schema.TABLES[name].path(self.place.folder)

    def write_file(self, name: str, content: bytes) -> str:
        """Write or replace a file beside the tables; returns its path in the atlas."""
        path = self.file(name)
        self.atlas.files.write(path, content)
        return path

    def file(self, name: str) -> str:
        """The path of a file beside the tables."""
        return f"{self.place.stage}/{self.place.folder}/{name}"

    # manifests

    def write_manifest(self, task: str, files: Iterable[str], facts: Mapping[str, Any] | None = None) -> None:
        """Record that a piece of work is done, with the checksums of its files."""
        stored = {name: self._written.pop(name) if name in self._written else self._read_back(name) for name in files}
        digests, sizes = ({name: values[part] for name, values in stored.items()} for part in (0, 1))
        manifest = {"files": digests, "sizes": sizes, "facts": dict(facts or {})}
        self.atlas.files.write(self._manifest(task), json.dumps(manifest, sort_keys=True).encode())

    def _read_back(self, name: str) -> tuple[str | None, int | None]:
        return self.atlas.files.digest(name), self.atlas.files.size_of(name)

    def manifest(self, task: str) -> Manifest | None:
        """The manifest of a piece of work; None if it is not done. Raises DamagedChunk if its files have changed."""
        name, files = self._manifest(task), self.atlas.files
        content = files.find(name)
        if content is None:
            return None
        try:
            manifest: Manifest = read_manifest(content)
        except (ValueError, RecursionError):
            raise DamagedChunk(f"{files.url}/{name} is damaged") from None
        for file, digest in manifest["files"].items():
            if files.digest(file) != digest:
                what = "does not match its checksum" if files.exists(file) else "is missing"
                raise DamagedChunk(f"{files.url}/{file} {what}")
        return manifest

    def bytes_of(self, task: str) -> int:
        """Bytes on disk of a piece of work, according to its manifest."""
        content = self.atlas.files.find(self._manifest(task))
        return sum(read_manifest(content).get("sizes", {}).values()) if content else 0

    def delete_manifest(self, task: str) -> None:
        """A piece of work no longer counts as done."""
        self.atlas.files.remove(self._manifest(task))

    def manifests(self) -> list[str]:
        """The pieces of work that have a manifest."""
        names = self.atlas.files.names(self.place.folders[0])
        return [name.removesuffix(".json") for name in names if name.endswith(".json")]

    def _manifest(self, task: str) -> str:
        return f"{self.place.folders[0]}/{task}.json"
