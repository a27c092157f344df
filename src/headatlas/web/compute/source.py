"""The texts that are computed with: an example of the atlas, or a custom text."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.web.api.errors import RequestError
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.views import example_table
from headatlas.web.views.snapshot import Snapshot

if TYPE_CHECKING:
    from headatlas.models.encode import Encoded

CUSTOM = -1  # the number of a custom text in place of that of an example


@dataclass(frozen=True)
class Source:
    """A text, its length and that of its target; `encoded` is None if it is to be read from the atlas."""

    example: int
    tokens: int
    target: int
    encoded: Encoded | None = None


def find(runner: ModelRunner, snapshot: Snapshot, example: int | None, key: str | None) -> Source:
    """The example with this number, or the custom text with this key."""
    if key is not None:
        encoded = runner.text(key)
        if encoded is None:
            raise RequestError(404, "This custom text has been forgotten.", "Send it again.")
        return Source(CUSTOM, len(encoded.source), len(encoded.target) if encoded.target else 0, encoded)
    assert example is not None
    snapshot.check_map(example)
    if not snapshot.live:
        raise RequestError(404, snapshot.live_note or "The model of this atlas is not available.")
    tokens, target = (example_table.integers(snapshot, name, 0)[example] for name in ("n_tokens", "n_target"))
    return Source(example, tokens, target)


def cache_key(snapshot: Snapshot, example: int | None, key: str | None) -> Hashable:
    """What results of a text are cached by: a custom text stays the same when the atlas changes."""
    return (snapshot.tag, example) if key is None else key
