"""The engine that runs every stage: begin a result, do pending work, finish it; or continue after a stop.

    with engine.result(atlas, "features", name, options) as result:
        if not result.finished:
            result.create_array("features", sizes, block)
            engine.run_blocks(result, work, ranges, "encoding maps", workers=workers, scheduler=scheduler)
            result.finish(facts)

A result is identified by its recipe: options, inputs and version. The same recipe again changes nothing, or continues
where a run was stopped. Another recipe under the same name makes a new result, which replaces the old one when it is
finished; only then are the old one, and everything made from it, deleted. So readers see the old result or the new
one. While a result is written its writer holds a lock on it; other results can be written at the same time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

from headatlas import __version__, parallel, progress
from headatlas.atlas import header, lock, schema
from headatlas.atlas.forecast import Forecast
from headatlas.atlas.store import Atlas, Entry, folder_of
from headatlas.atlas.writer import Place, Writer, block_name, key_of, kinds
from headatlas.errors import BusyError, DamagedChunk, OptionError, ReplacedError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
WAIT = 1.0  # seconds to wait for a process that holds the lock of a result only to clean up
GROUP = "zarr.json"  # the metadata of a group of arrays
TABLES = "tables"  # the manifest of what is written when a result is finished
METADATA = "metadata"  # the manifest of the metadata of its arrays

Recipe = dict[str, Any]


def recipe(options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Recipe:
    """Everything that determines the bytes of a result, as it will be read again from atlas.json."""
    made_by: Recipe = json.loads(json.dumps({"options": dict(options), "inputs": dict(inputs), "version": __version__}))
    return made_by


class Result(Writer):
    """A result that is being written, or was finished before."""

    def __init__(self, atlas: Atlas, place: Place, *, finished: bool) -> None:
        super().__init__(place)
        self.handle = atlas
        self.finished = finished
        self._reported: set[str] = set()  # damage that was already reported

    def pending(self, tasks: Iterable[str], facts: Mapping[str, Any] | None = None) -> list[str]:
        """The pieces of work that are not done, or not with these facts; damaged ones are reported on stderr."""
        return [task for task in tasks if not self._is_done(task, dict(facts or {}))]

    def _is_done(self, task: str, facts: dict[str, Any]) -> bool:
        try:
            manifest = self.manifest(task)
        except DamagedChunk as error:
            self.report(str(error))
            return False
        return manifest is not None and facts.items() <= manifest["facts"].items()

    def report(self, damage: str) -> None:
        """Report once that something is damaged."""
        if damage not in self._reported:
            progress.say(f"{damage}: recomputed")
        self._reported.add(damage)

    def finish(self, facts: Mapping[str, Any], files: Sequence[str] = ()) -> None:
        """Make the result visible in place of an older one of its name; `files` get checksums."""
        if files:
            self.write_manifest(TABLES, files)
        if arrays := self.metadata():
            self.write_manifest(METADATA, arrays)
        with self.handle.editing():
            dropped = _publish(self.handle, self.place, dict(facts), len(self.manifests()))
        for old, reason in dropped:
            progress.say(f"{old.stage} {old.name}: {reason}")
        _collect_garbage(self.handle, locked=self.place)
        self.finished = True


@contextmanager
def result(
    atlas: Atlas, stage: str, name: str, options: Mapping[str, Any], *, inputs: Mapping[str, Any] | None = None
) -> Iterator[Result]:
    """Begin a result or continue it, locked for other writers until the block ends.

    Parameters
    ----------
    atlas
        The atlas to write to. It sees the new result when it is finished.
    stage, name
        What the result is called.
    options
        What determines its bytes, as plain JSON.
    inputs
        What it is made from: for a stage in `schema.STAGES[stage].inputs` the name of its result (turned into name and
        key), for anything else a value that identifies it.

    Yields
    ------
    The result. If it is `finished`, there is nothing to do.
    """
    if not NAME.fullmatch(name):
        raise OptionError(f"--name {name!r}: use letters, digits, dots, dashes and underscores")
    atlas.refresh()
    header.renew_copy(atlas.files)
    if stage != schema.COLLECT:
        atlas.needed(schema.COLLECT)
    made_by = recipe(options, _resolved(atlas, inputs or {}))
    place = Place(atlas.files.absolute, stage, name, "" if stage == schema.COLLECT else key_of(made_by))
    if _is_complete(atlas, place, made_by):
        _collect_garbage(atlas)
        _prefer(atlas, place)
        yield Result(atlas, place, finished=True)
        return
    with _locked(atlas, place):
        atlas.refresh()
        if _is_complete(atlas, place, made_by):
            _prefer(atlas, place)
            yield Result(atlas, place, finished=True)
            return
        _collect_garbage(atlas, locked=place)
        yield from _write(atlas, place, made_by)


def _write(atlas: Atlas, place: Place, made_by: Recipe) -> Iterator[Result]:
    _enter(atlas, place, made_by)
    writing = Result(atlas, place, finished=False)
    writing.sweep()
    for damage in _damage(writing):
        writing.report(damage)
    try:
        yield writing
    except BaseException as error:
        replaced = not _is_current(atlas, place)
        if replaced or (not writing.manifests() and not _is_used(atlas, place)):
            _withdraw(atlas, place)  # nothing is lost: no work was finished, or its inputs are gone
        if replaced and isinstance(error, Exception):  # reading two results in turn can fail in any way
            raise _replaced(place) from error
        raise


def _is_current(atlas: Atlas, place: Place) -> bool:
    """Whether a result that is being written, and what it is made from, are still in atlas.json."""
    atlas.refresh()
    entry = _entry(atlas, place)
    return entry is not None and _inputs_exist(atlas, entry)


def _replaced(place: Place) -> ReplacedError:
    return ReplacedError(
        f"{place.stage} {place.name}: what it was made from was replaced meanwhile. Run the same command again"
    )


@contextmanager
def _locked(atlas: Atlas, place: Place) -> Iterator[None]:
    what = place.stage if place.stage == place.name else f"{place.stage} {place.name}"
    with ExitStack() as stack:
        try:
            previous = stack.enter_context(lock.hold(atlas.files, _lock_name(place), wait=WAIT))
        except BusyError as error:
            raise BusyError(f"{what} of {error}. Wait for it, or choose another name", error.holder) from None
        if previous is not None:
            since = f"process {previous['pid']}, which began at {previous['since']} and died"
            progress.say(f"{what}: taken over from {since}")
        yield


def _lock_name(place: Place) -> str:
    return f"{place.stage}.{place.name}"


def run_blocks(
    writing: Result,
    work: Callable[[int], int],
    ranges: Sequence[range],
    title: str,
    *,
    unit: str = "examples",
    facts: Mapping[str, Any] | None = None,
    threads: int | None = None,
    workers: int = 0,
    scheduler: str | None = None,
) -> None:
    """Run a function over the numbers of all blocks that are pending, with a progress bar.

    The function writes its block and its manifest, and returns the number of units done. `facts` are those that a
    finished block must have in its manifest. `threads` limits the threads of this process, where neither `workers` nor
    a `scheduler` is given. A run that will be long is announced after a few blocks, with its duration and size on disk.
    """
    names = {block_name(number): number for number in range(len(ranges))}
    numbers = [names[name] for name in writing.pending(names, facts)]
    if not numbers:
        return
    total = sum(len(ranges[number]) for number in numbers)

    def bytes_per_unit() -> float:
        units = {task: len(ranges[names[task]]) for task in writing.manifests() if task in names}
        return sum(map(writing.bytes_of, units)) / max(1, sum(units.values()))

    forecast = Forecast(title, unit, total, workers or threads or parallel.cores(), bytes_per_unit)
    with (
        progress.bar(title, total, unit) as advance,
        closing(parallel.run(work, numbers, threads=threads, workers=workers, scheduler=scheduler)) as counts,
    ):
        for count in counts:
            advance(count)
            forecast.advance(count)


# entries of atlas.json


def _resolved(atlas: Atlas, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that are results of stages, as NAME/KEY."""
    return {
        name: folder_of(name, atlas.results(name)[atlas.needed(name, value)]) if name in schema.STAGES else value
        for name, value in inputs.items()
    }


def _entry(atlas: Atlas, place: Place) -> Entry | None:
    entries = atlas.entries(place.stage)
    return next((entry for entry in entries if (entry["name"], entry["key"]) == (place.name, place.key)), None)


def _is_complete(atlas: Atlas, place: Place, made_by: Recipe) -> bool:
    """Whether this result is finished and all its files match their checksums."""
    entry, writer = _entry(atlas, place), Writer(place)
    if entry is None or not entry["done"] or entry["recipe"] != made_by:
        return False
    return len(writer.manifests()) == entry["manifests"] and not any(_damage(writer))


def _damage(writer: Writer) -> Iterator[str]:
    """What is wrong with the files of a result."""
    for task in writer.manifests():
        try:
            writer.manifest(task)
        except DamagedChunk as error:
            yield str(error)


def _enter(atlas: Atlas, place: Place, made_by: Recipe) -> None:
    """Put an unfinished result into atlas.json."""
    with atlas.editing() as header:
        entry = _entry(atlas, place)
        if entry is None:
            new = {"name": place.name, "key": place.key, "recipe": made_by, "done": False, "facts": {}, "manifests": 0}
            header["results"].setdefault(place.stage, []).append(new)
        else:
            entry["done"] = False


def _withdraw(atlas: Atlas, place: Place) -> None:
    """Take an unfinished result out of atlas.json, and delete its files."""
    with atlas.editing():
        _remove(atlas, place)
    _delete(atlas, place)


def _is_used(atlas: Atlas, place: Place) -> bool:
    """Whether this is a collection from which other stages made results."""
    return place.stage == schema.COLLECT and bool({*atlas.header["results"]} - {schema.COLLECT})


def _publish(atlas: Atlas, place: Place, facts: dict[str, Any], manifests: int) -> list[tuple[Place, str]]:
    """Mark a result as done and the latest; returns those that it replaces, with the reason."""
    entry = _entry(atlas, place)
    if entry is None or not _inputs_exist(atlas, entry):
        raise _replaced(place)
    older = [other for other in atlas.entries(place.stage) if other["name"] == place.name and other is not entry]
    dropped = []
    for other in older:
        old = Place(place.url, place.stage, place.name, other["key"])
        dropped.append((old, "replaced, since options differ"))
        dropped += _dependents(atlas, old)
    for old, _ in dropped:
        _remove(atlas, old)
    entries = atlas.entries(place.stage)
    entries.remove(entry)
    entries.append(entry | {"facts": facts, "manifests": manifests, "done": True})
    return dropped


def _inputs_exist(atlas: Atlas, entry: Entry) -> bool:
    """Whether the results that an entry was made from are still there."""
    for stage, value in entry["recipe"]["inputs"].items():
        if stage in schema.STAGES and value not in {folder_of(stage, other) for other in atlas.results(stage).values()}:
            return False
    return True


def _dependents(atlas: Atlas, source: Place) -> list[tuple[Place, str]]:
    """Everything that was made from a result, directly or not."""
    dependents: list[tuple[Place, str]] = []
    for stage in schema.STAGES:
        for entry in atlas.entries(stage):
            if entry["recipe"]["inputs"].get(source.stage) == source.folder:
                place = Place(source.url, stage, entry["name"], entry["key"])
                dependents += [(place, f"made from {source.name}, deleted"), *_dependents(atlas, place)]
    return dependents


def _remove(atlas: Atlas, place: Place) -> None:
    entries = atlas.entries(place.stage)
    entries[:] = [entry for entry in entries if (entry["name"], entry["key"]) != (place.name, place.key)]
    if not entries:
        atlas.header["results"].pop(place.stage, None)


def prefer(atlas: Atlas, stage: str, name: str) -> None:
    """Make a finished result the latest, which is used when none is named."""
    _prefer(atlas, Place(atlas.files.absolute, stage, name, atlas.results(stage)[name]["key"]))


def _prefer(atlas: Atlas, place: Place) -> None:
    if atlas.latest(place.stage) == place.name:
        return
    with atlas.editing():
        entry = _entry(atlas, place)
        if entry is not None:
            entries = atlas.entries(place.stage)
            entries.remove(entry)
            entries.append(entry)


# files that are not listed in atlas.json


def _collect_garbage(atlas: Atlas, locked: Place | None = None) -> None:
    """Delete what no entry lists: results that were replaced, and leftovers of killed processes.

    Results of the name that this process has `locked` are deleted at once, unfinished ones of other recipes too; those
    of other names only if no process is writing them, else by a later call.
    """
    lock.clear_dead(atlas.files)
    locked_name = None if locked is None else (locked.stage, locked.name)
    if locked is not None:
        for entry in [entry for entry in atlas.entries(locked.stage) if entry["name"] == locked.name]:
            if entry["key"] != locked.key and not entry["done"]:
                _withdraw(atlas, Place(locked.url, locked.stage, locked.name, entry["key"]))
    for place in _unlisted(atlas):
        if (place.stage, place.name) == locked_name:
            _delete(atlas, place)
            continue
        with suppress(BusyError), lock.hold(atlas.files, _lock_name(place)):
            if _entry(Atlas.open(place.url), place) is None:  # it may have begun since this handle was refreshed
                _delete(atlas, place)
    _remove_emptied(atlas)


def _remove_emptied(atlas: Atlas) -> None:
    """Delete folders of names whose results are deleted: a process was killed before it could do this."""
    for stage in schema.STAGES:
        for folder in kinds(stage) if stage != schema.COLLECT else ():
            for name in filter(NAME.fullmatch, atlas.files.names(folder)):
                if name != GROUP and atlas.files.names(f"{folder}/{name}") in ([], [GROUP]):
                    with suppress(BusyError), lock.hold(atlas.files, f"{stage}.{name}"):
                        atlas.files.remove_empty(f"{folder}/{name}")


def _unlisted(atlas: Atlas) -> list[Place]:
    """Results on disk that atlas.json does not list."""
    unlisted = {}
    for stage in schema.STAGES:
        if stage == schema.COLLECT:
            continue
        known = {(entry["name"], entry["key"]) for entry in atlas.entries(stage)}
        for kind in kinds(stage):
            for name in atlas.files.names(kind):
                for key in atlas.files.names(f"{kind}/{name}"):
                    if NAME.fullmatch(name) and re.fullmatch("[0-9a-f]{8}", key) and (name, key) not in known:
                        unlisted[stage, name, key] = Place(atlas.files.absolute, stage, name, key)
    return list(unlisted.values())


def _delete(atlas: Atlas, place: Place) -> None:
    """Delete the files of a result, and folders left empty."""
    for folder in place.folders:
        atlas.files.remove(folder)
        atlas.files.remove_empty(folder.rpartition("/")[0])
