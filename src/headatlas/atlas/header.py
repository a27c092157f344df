"""atlas.json: read and checked, written with its own checksum and a copy, and restored from the copy."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from headatlas import progress
from headatlas.atlas import lock, schema
from headatlas.atlas.files import Files
from headatlas.errors import StoreError

HEADER = "atlas.json"
COPY = "manifests/atlas.json"
CHECKSUM = "checksum"
PATIENCE = 60.0  # seconds to wait for other writers of atlas.json, which take milliseconds
ENTRY = {"name": str, "key": str, "recipe": dict, "done": bool, "facts": dict, "manifests": int}

Header = dict[str, Any]


def read(files: Files) -> Header:
    """The header of an atlas. An error says what is wrong with it and how to repair it."""
    try:
        header = _parsed(files.read(HEADER))
    except ValueError as error:
        command = f"its `{schema.command(schema.COLLECT, files.url)}` command"
        advice = f"Run {command} again: it restores a copy" if copy(files) else "Restore it, or collect elsewhere"
        raise StoreError(f"{files.url}/{HEADER} is damaged: {error}. {advice}") from error
    if header["format"] != schema.FORMAT:
        new = header["format"] > schema.FORMAT
        advice = "update headatlas" if new else "collect again into a new folder: headatlas collect MODEL DATA -o NEW"
        raise StoreError(
            f"{files.url} has format {header['format']}, this version reads format {schema.FORMAT}: {advice}"
        )
    return header


def write(files: Files, header: Mapping[str, Any]) -> None:
    """Replace the header, then its copy; only the holder of the lock on atlas.json may do this."""
    text = json.dumps({**header, CHECKSUM: _checksum(header)}, indent=1, ensure_ascii=False, sort_keys=True)
    for name in (HEADER, COPY):
        files.sweep_partial(name)
        files.write(name, f"{text}\n".encode())


def copy(files: Files) -> bytes | None:
    """The content of the copy; None if it is missing or damaged."""
    content = files.find(COPY)
    if content is None:
        return None
    try:
        return content if CHECKSUM in json.loads(content) and _parsed(content) else None
    except ValueError:
        return None


def is_damaged(files: Files) -> bool:
    """Whether there is a header that cannot be trusted."""
    try:
        _parsed(files.read(HEADER))
    except ValueError:
        return True
    return False


def _parsed(content: bytes) -> Header:
    """The header without its checksum; ValueError with the reason if it cannot be one."""
    try:
        header = json.loads(content)
        version = header["format"]
        checksum = header.pop(CHECKSUM, None)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from error
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not an object") from error
    if checksum is not None and checksum != _checksum(header):
        raise ValueError("it does not match its checksum")
    if not isinstance(version, int):
        raise ValueError(f"its format is {version!r}")
    if version == schema.FORMAT:
        _check_fields(header, complete=checksum is not None)
    return dict(header)


def _checksum(header: Mapping[str, Any]) -> str:
    """The sha256 of the content, however it is written."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _check_fields(header: Mapping[str, Any], *, complete: bool) -> None:
    """Raise ValueError for a field that is missing or has another type; `complete` if a checksum vouches for more."""
    for name in ("results",) if complete else ("results", "model", "data"):
        _check_field(header, name, dict, HEADER)
    for stage, entries in header["results"].items():
        if stage not in schema.STAGES or not isinstance(entries, list):
            raise ValueError(f"its results of {stage!r} are no results of a stage")
        for entry in entries:
            for name, kind in ENTRY.items():
                _check_field(entry, name, kind, f"a result of {stage}")
            for name in ("options", "inputs"):
                _check_field(entry["recipe"], name, dict, f"a recipe of {stage}")


def _check_field(holder: Any, name: str, kind: type, what: str) -> None:
    if not isinstance(holder, dict) or not isinstance(holder.get(name), kind):
        raise ValueError(f"{what} has no valid {name!r}")


def renew_copy(files: Files) -> None:
    """Make the copy of atlas.json equal to it: a process may have been killed between writing the two."""
    if _has_current_copy(files):
        return
    with lock.hold(files, "atlas", wait=PATIENCE):
        if not _has_current_copy(files):
            write(files, read(files))


def _has_current_copy(files: Files) -> bool:
    return files.find(COPY) == files.read(HEADER)


def restore(path: str | os.PathLike[str]) -> None:
    """Replace a damaged atlas.json by its copy, if there is one that is intact."""
    files = Files(path)
    if not files.exists(HEADER) or not is_damaged(files):
        return
    with lock.hold(files, "atlas", wait=PATIENCE):
        content = copy(files)
        if content is not None and is_damaged(files):
            files.write(HEADER, content)
            progress.say(f"{files.url}/{HEADER} was damaged: restored from its copy")


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise an error if there can be no atlas at a path; writes nothing."""
    files = Files(path)
    if files.exists(HEADER):
        if not (is_damaged(files) and copy(files)):  # such a header will be restored
            read(files)
        return
    files.check_writable()
    check_empty(files)


def check_empty(files: Files) -> None:
    """Raise an error if a folder without an atlas holds something else."""
    others = [name for name in files.names() if not name.endswith(".partial") and name != lock.FOLDER]
    if others:
        raise StoreError(
            f"{files.url} is not an atlas and not empty (it holds {others[0]}). Choose another place with -o"
        )
