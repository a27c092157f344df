"""What a person can write about an atlas: names and notes of patterns and heads, and saved selections.

Needs pydantic only, since the types of the page are generated from it.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

VERSION = 1
KIND = "headatlas.notes"
LONGEST_NAME = 80  # characters
LONGEST_NOTE = 10_000
MOST_ENTRIES = 5_000  # of each kind
MOST_MAPS = 20_000  # in a selection


def _plain(text: str, allowed: str = "") -> str:
    """Text without control characters, which nobody types and which terminals obey."""
    for char in text:
        if unicodedata.category(char) in ("Cc", "Cs") and char not in allowed:
            raise ValueError(f"the character U+{ord(char):04X} is not allowed")
    return text.strip()


def _lines(text: str) -> str:
    return _plain(text.replace("\r\n", "\n"), "\n\t")


Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_plain)]
NonemptyName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_plain), Field(min_length=1)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(_lines)]
Number = Annotated[int, Field(ge=0, lt=2**31)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PatternNote(_Entry):
    """A name and a note for a pattern of a clustering, which its name and the key of its recipe identify.

    `pattern` is the number of a cluster, or 1000 + the number of a node of a tree.
    """

    clustering: Annotated[str, Field(min_length=1, max_length=100)]
    key: Annotated[str, Field(pattern="^[0-9a-f]{4,64}$")]
    pattern: Number
    name: Name = ""
    note: Note = ""


class HeadNote(_Entry):
    """A name and a note for a head."""

    layer: Number
    head: Number
    name: Name = ""
    note: Note = ""


class SavedSelection(_Entry):
    """A set of maps, heads or examples with a name. A map is an example, a layer and a head."""

    name: NonemptyName
    note: Note = ""
    maps: Annotated[list[tuple[Number, Number, Number]], Field(max_length=MOST_MAPS)] = []
    heads: Annotated[list[tuple[Number, Number]], Field(max_length=MOST_MAPS)] = []
    examples: Annotated[list[Number], Field(max_length=MOST_MAPS)] = []


class Annotations(_Entry):
    """The content of a file of notes. `revision` counts the changes."""

    kind: Literal["headatlas.notes"] = "headatlas.notes"
    version: Literal[1] = 1
    revision: Number = 0
    patterns: Annotated[list[PatternNote], Field(max_length=MOST_ENTRIES)] = []
    heads: Annotated[list[HeadNote], Field(max_length=MOST_ENTRIES)] = []
    selections: Annotated[list[SavedSelection], Field(max_length=MOST_ENTRIES)] = []

    def changed(self, entry: PatternNote | HeadNote | SavedSelection) -> Annotations:
        """The next revision, with an entry in place of the one it identifies. An empty entry removes it."""
        field = {PatternNote: "patterns", HeadNote: "heads", SavedSelection: "selections"}[type(entry)]
        others = [other for other in getattr(self, field) if identity(other) != identity(entry)]
        entries = others if is_empty(entry) else [*others, entry]
        entries.sort(key=identity)
        return self.model_validate(self.model_dump() | {"revision": self.revision + 1, field: entries})


def identity(entry: PatternNote | HeadNote | SavedSelection) -> tuple[str | int, ...]:
    """What an entry is about."""
    if isinstance(entry, PatternNote):
        return entry.clustering, entry.key, entry.pattern
    return (entry.layer, entry.head) if isinstance(entry, HeadNote) else (entry.name,)


def is_empty(entry: PatternNote | HeadNote | SavedSelection) -> bool:
    """Whether an entry says nothing."""
    if isinstance(entry, SavedSelection):
        return not (entry.maps or entry.heads or entry.examples)
    return not (entry.name or entry.note)
