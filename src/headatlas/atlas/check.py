"""Check every file of an atlas: against the checksums in the manifests, or, where there are none, by reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas import progress
from headatlas.atlas import checksums, header, schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.checksums import Checksum
from headatlas.errors import StoreError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas, Entry


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as it was written, what is wrong with it, and what repairs it."""

    path: str
    reason: str
    repair: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}. {self.repair}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A finished result, the checksums of its files, and what is wrong with its manifests."""

    stage: str
    entry: Entry
    files: dict[str, Checksum]
    damage: list[Damage]


def damage(atlas: Atlas) -> tuple[int, list[Damage]]:
    """The number of files that were checked, and those that are damaged; shows a progress bar."""
    results = [_listed(atlas, stage, entry) for stage in schema.STAGES for entry in atlas.entries(stage)]
    total = 1 + sum(len(result.files) for result in results)
    damaged = list(_copy_damage(atlas))
    with progress.bar("checking", total, "files") as advance:
        advance(1)  # atlas.json was checked when it was opened
        for result in results:
            faulty = [*result.damage, *_faults(atlas, result, advance)]
            known = {*result.files, *(item.path for item in faulty)}
            faulty += _read(atlas, result, known) if result.entry["done"] else []
            if faulty and not result.entry["done"]:
                faulty = _still(atlas, result, faulty)
            if faulty and _is_current(result, atlas.files.url):
                damaged += faulty
    return total, damaged


def _faults(atlas: Atlas, result: Listed, advance: Callable[[int], None]) -> Iterator[Damage]:
    """The files that do not match their checksums."""
    for name, expected in result.files.items():
        fault = checksums.fault(atlas.files, name, expected)
        if fault:
            yield Damage(name, fault, _repair(result.stage))
        advance(1)


def _still(atlas: Atlas, result: Listed, faulty: list[Damage]) -> list[Damage]:
    """What is wrong at a second look: the process that writes a result may have changed or deleted parts of it."""
    again = _listed(atlas, result.stage, result.entry)
    return [*again.damage, *(item for item in _faults(atlas, again, lambda _: None) if item in faulty)]


def _is_current(result: Listed, url: str) -> bool:
    """Whether a result is still in atlas.json as it was: else another process replaced it while it was checked."""
    from headatlas.atlas.store import Atlas

    return result.entry in Atlas.open(url).entries(result.stage)


def _listed(atlas: Atlas, stage: str, entry: Entry) -> Listed:
    """The files of a result, from its manifests."""
    from headatlas.atlas.store import folder_of

    folder = checksums.manifest_folder(stage, folder_of(stage, entry))
    manifests = [name for name in atlas.files.names(folder) if name.endswith(".json")]
    listed = Listed(stage, entry, {}, [])
    if stage == schema.COLLECT:
        manifests = [name for name in manifests if f"{folder}/{name}" != header.COPY]
    for name in manifests:
        try:
            content = checksums.read_manifest(atlas.files.find(f"{folder}/{name}") or b"")
            listed.files.update(checksums.checksums_of(content))
        except (ValueError, RecursionError):
            listed.damage.append(Damage(f"{folder}/{name}", "is damaged", _repair(stage)))
    missing = entry["manifests"] - len(manifests)
    if entry["done"] and missing > 0:
        listed.damage.append(Damage(folder, f"has {missing:,} manifests too few", _repair(stage)))
    return listed


def _read(atlas: Atlas, result: Listed, known: set[str]) -> Iterator[Damage]:
    """Read what has no checksums in manifests: arrays have checksums inside, tables those of their pages."""
    declared, of = schema.STAGES[result.stage], result.entry["name"]
    folder = atlas.folder(result.stage, of) or ""
    for table in declared.tables:
        if table.path(folder) not in known and atlas.has_table(table.name, of):
            try:
                atlas.table(table.name, of)
            except StoreError as error:
                yield Damage(table.path(folder), f"cannot be read ({error})", _repair(result.stage))
    for array in declared.arrays:
        path = array.path(folder)
        if not any(name.startswith((f"{path}/c/", f"{path}/c.")) for name in known) and atlas.has_array(array.name, of):
            try:
                for _ in read_blocks(atlas, array.name, of):
                    pass
            except StoreError as error:
                yield Damage(path, f"cannot be read ({error})", _repair(result.stage))


def _copy_damage(atlas: Atlas) -> Iterator[Damage]:
    if atlas.files.exists(header.COPY) and header.copy(atlas.files) is None:
        yield Damage(header.COPY, "is damaged", "It is only a copy: the next command that writes replaces it")


def _repair(stage: str) -> str:
    command = f"headatlas {schema.STAGES[stage].command or stage}"
    return f"Run the `{command}` command that made it again: it finds and recomputes the damaged part"
