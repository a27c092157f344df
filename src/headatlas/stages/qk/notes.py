"""Why the distances of a head cannot mirror its attention, where they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SINK = "part of its attention goes to a sink that is not a token"
EXTRA = "its scores are not the products of these queries and keys alone, as with a position bias, ALiBi or a soft cap"
SAME_KEYS = "all its keys are equal, so it attends evenly"
SAME_QUERIES = "all its queries are equal, so every token attends alike"
INFINITE = "some vectors exceed what float16 can hold, and are left out"


def layer_note(layer: Mapping[str, Any]) -> str:
    """Why no head of a layer, as the atlas describes it, can be mirrored; empty if they can be.

    >>> layer_note({"standard": True, "sink": False}), layer_note({"standard": False, "sink": True})
    ('', 'part of its attention goes to a sink that is not a token')
    """
    if layer.get("sink"):
        return SINK
    return "" if layer.get("standard", True) else EXTRA


def vectors_note(query: NDArray[Any], key: NDArray[Any]) -> str:
    """What is unusual about the vectors of a head; empty if nothing is."""
    if bool((key == key[0]).all()):
        return SAME_KEYS
    return SAME_QUERIES if bool((query == query[0]).all()) else ""


def joined(*notes: str) -> str:
    """Notes as one text."""
    return "; ".join(note for note in notes if note)


def overflown(*vectors: NDArray[Any]) -> str:
    """The note on vectors that are infinite."""
    return INFINITE if any(bool(np.isinf(values).any()) for values in vectors) else ""
