"""Names and notes that a person wrote: read by every page, changed only where the server was started for it."""

from __future__ import annotations

from headatlas.atlas import notes as stored
from headatlas.atlas.annotations import Annotations, PatternNote, SavedSelection
from headatlas.errors import OptionError, StoreError
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.notes import Notes, NotesChange, ShownPatternNote
from headatlas.web.views.snapshot import Snapshot

READ_ONLY = "The notes can only be read here."
HOW = "Start the server with --edit to change them."


def notes(snapshot: Snapshot) -> Notes:
    """All notes of the atlas."""
    try:
        return _payload(snapshot, stored.read(snapshot.atlas.files))
    except StoreError as error:
        path = stored.place(snapshot.atlas.files)
        problem = str(error).replace(path, snapshot.name + stored.ENDING)  # a page does not reveal where the atlas is
        return Notes(editable=False, problem=problem, revision=0, patterns=[], heads=[], selections=[])


def change(snapshot: Snapshot, body: NotesChange) -> Notes:
    """Write one entry, and return all notes."""
    if not snapshot.editable:
        raise RequestError(403, READ_ONLY, HOW)
    entry = body.pattern or body.head or body.selection
    assert entry is not None, "validated"
    if isinstance(entry, PatternNote):
        _check_pattern(snapshot, entry)
    elif isinstance(entry, SavedSelection):
        _check_selection(snapshot, entry)
    else:
        snapshot.check_map(0, entry.layer, entry.head)
    try:
        return _payload(snapshot, stored.edit(snapshot.atlas.files, body.revision, entry))
    except stored.ConflictError as error:
        raise RequestError(409, str(error)) from error
    except OptionError as error:
        raise RequestError(413, str(error)) from error
    except StoreError as error:
        raise RequestError(503, str(error)) from error


def _payload(snapshot: Snapshot, content: Annotations) -> Notes:
    patterns = [
        ShownPatternNote(**entry.model_dump(), current=stored.is_current(snapshot.atlas, entry))
        for entry in content.patterns
    ]
    return Notes(
        editable=snapshot.editable, problem="", revision=content.revision, patterns=patterns, heads=content.heads,
        selections=content.selections,
    )  # fmt: skip


def _check_pattern(snapshot: Snapshot, entry: PatternNote) -> None:
    """A note can be written for the current clustering only, and removed from an earlier one."""
    if (entry.name or entry.note) and not stored.is_current(snapshot.atlas, entry):
        raise RequestError(409, f"The clustering {entry.clustering[:80]!r} was replaced.", "Reload the page.")


def _check_selection(snapshot: Snapshot, entry: SavedSelection) -> None:
    for example, layer, head in entry.maps:
        snapshot.check_map(example, layer, head)
    for layer, head in entry.heads:
        snapshot.check_map(0, layer, head)
    for example in entry.examples:
        snapshot.check_map(example)
