"""Notes of a person about an atlas: a small file beside its folder, `x.atlas.notes.json`, never inside it.

>>> from headatlas.atlas.annotations import HeadNote
>>> from headatlas.atlas.files import Files
>>> from tempfile import mkdtemp
>>> files = Files(f"{mkdtemp()}/x.atlas")
>>> changed = edit(files, 0, HeadNote(layer=0, head=2, name="looks back"))
>>> read(files).heads[0].name, changed.revision
('looks back', 1)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from headatlas.atlas import lock
from headatlas.atlas.annotations import KIND, VERSION, Annotations, HeadNote, PatternNote, SavedSelection
from headatlas.atlas.files import Files
from headatlas.errors import OptionError, StoreError

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas

ENDING = ".notes.json"
LARGEST = 16 << 20  # bytes of a file
PATIENCE = 10.0  # seconds to wait for another writer, which takes milliseconds
TABLE = "notes"


class ConflictError(StoreError):
    """The notes were changed since they were read."""


def place(files: Files) -> str:
    """The file of the notes of an atlas, as a path of its file system."""
    return f"{files.path().rstrip('/')}{ENDING}"


def read(files: Files) -> Annotations:
    """The notes of an atlas; none if there is no file. An error names what is wrong with the file."""
    path = place(files)
    with files.guard():
        if not files.system.exists(path):
            return Annotations()
        if files.system.size(path) > LARGEST:
            raise _refused(path, f"it is larger than {LARGEST:,} bytes")
        return _parsed(path, bytes(files.system.cat_file(path)))


def _parsed(path: str, content: bytes) -> Annotations:
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _refused(path, "it is not JSON") from error
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise _refused(path, "it is not a file of notes of Headatlas")
    if facts.get("version") != VERSION:
        raise _refused(path, f"it has version {str(facts.get('version'))[:20]}, this program reads version {VERSION}")
    try:
        return Annotations.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _refused(path, f"{field}: {first['msg']}") from error


def _refused(path: str, reason: str) -> StoreError:
    return StoreError(f"{path} cannot be read: {reason[:200]}. It is left as it is: repair it or move it away")


def check_editable(files: Files) -> None:
    """Raise an error unless the notes can be edited."""
    if not files.local:
        raise OptionError(f"--edit needs an atlas in a local folder: the notes of {files.url} can only be read")
    read(files)
    Files(str(Path(place(files)).parent)).check_writable()


def edit(files: Files, revision: int, entry: PatternNote | HeadNote | SavedSelection) -> Annotations:
    """Change one entry of the notes as they were at `revision`, and return them; an error if they changed since."""
    if not files.local:
        check_editable(files)
    path = Path(place(files))
    folder = Files(str(path.parent))
    with lock.hold(folder, path.name, wait=PATIENCE, folder=""):
        notes = read(files)
        if notes.revision != revision:
            raise ConflictError(
                "the notes were changed elsewhere meanwhile; nothing was saved. Read them and try again"
            )
        changed = notes.changed(entry)
        text = json.dumps(changed.model_dump(), indent=1, ensure_ascii=False)
        content = f"{text}\n".encode()
        if len(content) > LARGEST:
            raise OptionError(f"the notes would be larger than {LARGEST:,} bytes: remove a selection first")
        folder.sweep_partial(path.name)
        folder.write(path.name, content)
    return changed


def is_current(atlas: Atlas, entry: PatternNote) -> bool:
    """Whether a note is about a clustering that the atlas has: one of this name, by the same recipe."""
    result = atlas.results("cluster").get(entry.clustering)
    return result is not None and str(result["key"]) == entry.key


def as_dict(atlas: Atlas) -> dict[str, Any]:
    """The notes as plain lists. `current` says whether a pattern is of a clustering that the atlas has."""
    notes = read(atlas.files)
    patterns = [entry.model_dump() | {"current": is_current(atlas, entry)} for entry in notes.patterns]
    return {"revision": notes.revision, "patterns": patterns} | notes.model_dump(include={"heads", "selections"})


def table(atlas: Atlas) -> pa.Table:
    """The notes as one table: a row per pattern, head and selection."""
    import pyarrow as pa

    notes = as_dict(atlas)
    rows = [{"about": "pattern", **entry} for entry in notes["patterns"]]
    rows += [{"about": "head", **entry} for entry in notes["heads"]]
    rows += [{"about": "selection", **entry} for entry in notes["selections"]]
    pair, triple = pa.list_(pa.list_(pa.int64())), pa.list_(pa.list_(pa.int64()))
    types = {
        "about": pa.string(), "name": pa.string(), "note": pa.string(), "clustering": pa.string(), "key": pa.string(),
        "pattern": pa.int64(), "current": pa.bool_(), "layer": pa.int64(), "head": pa.int64(), "maps": triple,
        "heads": pair, "examples": pa.list_(pa.int64()),
    }  # fmt: skip
    return pa.Table.from_pylist(rows, schema=pa.schema(types))
