"""Results of the stages after collect: each has a name, a recipe and, mostly, another result it was made from.

A stage begins a result, writes its arrays and tables, and finishes it. A result that was finished by the same recipe is
left as it is; one with another recipe is replaced, together with everything that was made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headatlas import __version__, progress
from headatlas.atlas.store import Atlas
from headatlas.errors import DamagedChunk, OptionError, StoreError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Source = tuple[str, str]  # stage and name


def finished(
    atlas: Atlas, stage: str, name: str, options: Mapping[str, Any], *, source: Source | None = None
) -> dict[str, Any] | None:
    """The entry in the header if this very result is finished and whole, else None. Nothing is written or deleted."""
    if not NAME.fullmatch(name):
        raise OptionError(f"--name {name!r}: use letters, digits, dots, dashes and underscores")
    needed(atlas, "collect")
    there = next((one for one in _entries(atlas, stage) if one["name"] == name), None)
    if there is None or not there["done"] or there["recipe"] != _recipe(options, source):
        return None
    there["done"] = _whole(atlas, stage, name)
    return there if there["done"] else None


def begin(
    atlas: Atlas, stage: str, name: str, options: Mapping[str, Any], *, source: Source | None = None
) -> dict[str, Any] | None:
    """Begin a result or go on with it. Gives the entry in the header if it is finished already, else None.

    Another result of this name is deleted: a stage that may yet fail asks `finished` first, and begins when it knows.
    """
    there = finished(atlas, stage, name, options, source=source)
    if there is not None:
        prefer(atlas, stage, name)  # asked for last, so used next
        return there
    atlas.refresh()
    recipe, entries = _recipe(options, source), _entries(atlas, stage)
    there = next((one for one in entries if one["name"] == name), None)
    if there is not None and there["recipe"] == recipe:
        there["done"] = False
    else:
        if there is not None:
            _drop(atlas, stage, name)
        entries.append({"name": name, "recipe": recipe, "done": False})
    atlas.write_header()
    return None


def finish(atlas: Atlas, stage: str, name: str, facts: Mapping[str, Any], files: list[str] | None = None) -> None:
    """Mark a result as complete, with what is worth knowing of it; `files` are vouched for by checksum."""
    if files is not None:
        atlas.write_receipt(f"{stage}/{name}", "result", files)
    atlas.refresh()
    entries = _entries(atlas, stage)
    entry = next(one for one in entries if one["name"] == name)
    entries.remove(entry)
    entries.append(entry | {"facts": dict(facts), "done": True})  # the latest comes last
    atlas.write_header()


def prefer(atlas: Atlas, stage: str, name: str) -> None:
    """Make a finished result the latest, which is used when none is named."""
    if atlas.latest(stage) != name:
        atlas.refresh()
        entries = _entries(atlas, stage)
        entries.append(entries.pop(next(place for place, one in enumerate(entries) if one["name"] == name)))
        atlas.write_header()


def needed(atlas: Atlas, stage: str, of: str | None = None) -> str:
    """The name of a finished result that another stage needs, the latest if none is named; says how to make it."""
    if stage == "collect":
        if "collect" not in atlas.done:
            raise StoreError(f"{atlas.files.url} is not complete. Run its `headatlas collect` command again to go on")
        return stage
    there = atlas.results(stage)
    if of is not None and of not in there:
        have = f"it has {', '.join(there)}" if there else f"make it with `{atlas.command(stage)}`"
        raise StoreError(f"{atlas.files.url} has no {stage} result called {of!r}: {have}")
    latest = of or atlas.latest(stage)
    if latest is None:
        raise StoreError(f"{atlas.files.url} has no {stage} yet. Run `{atlas.command(stage)}` first")
    return latest


def facts(atlas: Atlas, stage: str, of: str) -> dict[str, Any]:
    """What was noted when a result was finished."""
    entry: dict[str, Any] = atlas.results(stage)[of]
    found: dict[str, Any] = entry["facts"]
    return found


def source(atlas: Atlas, stage: str, of: str) -> str:
    """The name of the result from which this one was made."""
    return str(atlas.results(stage)[of]["recipe"]["source"][1])


def _recipe(options: Mapping[str, Any], source: Source | None) -> dict[str, Any]:
    return {"options": dict(options), "source": list(source) if source else None, "version": __version__}


def _entries(atlas: Atlas, stage: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = atlas.header["stages"].setdefault(stage, {}).setdefault("results", [])
    return entries


def _whole(atlas: Atlas, stage: str, name: str) -> bool:
    """Whether all files of a result that were vouched for are as they were."""
    try:
        for task in atlas.files.names(f"receipts/{stage}/{name}"):
            atlas.receipt(f"{stage}/{name}", task.removesuffix(".json"))
    except DamagedChunk as error:
        progress.say(f"{error}: computed anew")
        return False
    return True


def _drop(atlas: Atlas, stage: str, name: str, because: str | None = None) -> None:
    """Delete a result and what was made from it."""
    progress.say(
        f"{stage} {name}: " + (f"made from {because}, deleted" if because else "replaced, since options differ")
    )
    for folder in (f"{stage}.zarr/{name}", f"{stage}/{name}", f"receipts/{stage}/{name}"):
        atlas.forget(folder)
    entries = _entries(atlas, stage)
    entries[:] = [one for one in entries if one["name"] != name]
    for later in list(atlas.header["stages"]):
        for one in list(atlas.header["stages"][later].get("results", [])):
            if one["recipe"]["source"] == [stage, name]:
                _drop(atlas, later, one["name"], because=name)
