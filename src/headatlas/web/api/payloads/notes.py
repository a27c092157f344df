"""Names and notes that a person wrote."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from headatlas.atlas.annotations import HeadNote, PatternNote, SavedSelection
from headatlas.web.api.payloads.base import Payload


class ShownPatternNote(PatternNote):
    """A pattern's name and note. If it is not `current`, it belongs to an earlier clustering."""

    current: bool


class Notes(Payload):
    """All notes. `problem` says why a file of notes cannot be read; then there are none."""

    editable: bool
    problem: str
    revision: int
    patterns: list[ShownPatternNote]
    heads: list[HeadNote]
    selections: list[SavedSelection]


class NotesChange(Payload):
    """One entry to write in place of the one it identifies; an empty one removes it. `revision` is that of the notes
    that were read: if they were changed since, nothing is written."""

    revision: int
    pattern: PatternNote | None = None
    head: HeadNote | None = None
    selection: SavedSelection | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len([entry for entry in (self.pattern, self.head, self.selection) if entry is not None]) != 1:
            raise ValueError("give a pattern, a head or a selection")
        return self
