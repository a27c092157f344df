"""What a single file holds: responses of the API, packed."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headatlas.web.api.arrays import DTYPE

HIGH = 257  # a u16 value that has equal bytes, divided by this, is its high byte


@dataclass
class Contents:
    """The view a page opens on, what it holds in words, and responses by their address.

    `next` says how to see the rest. `tabs` are those to show, None for all. `live` pages hold no responses: the page
    around their frame answers. `rounded` are the addresses of u16 values of which only the high 8 bits are kept.
    """

    address: str
    holds: str
    next: str = ""
    tabs: list[str] | None = None
    live: bool = False
    files: dict[str, str] = field(default_factory=dict)
    rounded: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Bytes of all responses in the file."""
        return sum(map(len, self.files.values()))

    def add(self, path: str, response: bytes, *, rounded: bool = False) -> None:
        """Add a response."""
        self.files[path] = pack(high_bytes(response) if rounded else response)
        if rounded:
            self.rounded.add(path)

    def json(self) -> str:
        """Everything as JSON that can stand in an element: no text in it can end the element."""
        facts: dict[str, Any] = {
            "address": self.address, "holds": self.holds, "next": self.next, "tabs": self.tabs, "live": self.live,
            "files": self.files, "rounded": sorted(self.rounded),
        }  # fmt: skip
        return json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")


def pack(response: bytes) -> str:
    """Deflated, as base64."""
    return base64.b64encode(zlib.compress(response, 9)).decode()


def high_bytes(values: bytes) -> bytes:
    """The nearest 8-bit value of each u16 value.

    >>> list(high_bytes(np.array([0, 300, 65535], DTYPE).tobytes()))
    [0, 1, 255]
    """
    wide = np.frombuffer(values, DTYPE).astype(np.uint32)
    return ((wide + HIGH // 2) // HIGH).astype(np.uint8).tobytes()
