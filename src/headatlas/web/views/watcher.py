"""The atlas as it is now: stages may finish, or the folder disappear, while it is served."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from headatlas import __version__
from headatlas.atlas.header import HEADER
from headatlas.atlas.store import Atlas
from headatlas.errors import DamagedChunk, StoreError
from headatlas.web.api.errors import RequestError
from headatlas.web.views.snapshot import Snapshot

Value = TypeVar("Value")
PACKAGE = Path(__file__).parents[2]
REREAD = 2.0  # seconds after which a header that is not a local file is read again
ATTEMPTS = 3


class ModelState(Protocol):
    """What a watcher asks about the model."""

    @property
    def version(self) -> int:
        """Changes when `state` may have changed."""

    def state(self, atlas: Atlas) -> tuple[bool, str]:
        """Whether full maps can be computed, and if not, why."""


class AtlasWatcher:
    """Gives a snapshot of an atlas as it is now."""

    def __init__(self, atlas: Atlas, model: ModelState | None = None, *, editable: bool = False) -> None:
        self.url, self.files, self.model, self.editable = atlas.files.url, atlas.files, model, editable
        self._lock = threading.Lock()
        self._state: object = None
        self._snapshot: Snapshot | None = None
        self.snapshot()

    def snapshot(self) -> Snapshot:
        """The atlas now: the same object as before unless atlas.json, or what is known of the model, has changed."""
        with self._lock:
            state = (self._header_state(), 0 if self.model is None else self.model.version)
            if self._snapshot is None or state != self._state:
                atlas = self._open()
                live, note = (False, "") if self.model is None else self.model.state(atlas)
                tag = _digest(atlas.header, live, note)
                if self._snapshot is None or tag != self._snapshot.tag:
                    self._snapshot = Snapshot(atlas, tag, live, note, editable=self.editable)
                self._state = state
            return self._snapshot

    def read(self, make: Callable[[Snapshot], Value]) -> tuple[Value, Snapshot]:
        """The value of `make(snapshot)`, all of it read from one state of the atlas, and that snapshot."""
        for attempt in range(ATTEMPTS):
            snapshot = self.snapshot()
            try:
                value = make(snapshot)
            except Exception as error:
                if self.snapshot() is snapshot or attempt == ATTEMPTS - 1:
                    raise _explained(error, self.url) from error
                continue
            if self.snapshot() is snapshot:
                return value, snapshot
        raise RequestError(503, f"{self.url} is being changed. Try again in a moment.", headers={"retry-after": "1"})

    def _header_state(self) -> object:
        if not self.files.local:
            return time.monotonic() // REREAD
        try:
            facts = os.stat(self.files.path(HEADER))  # noqa: PTH116 - a path of fsspec
        except OSError:
            self._snapshot = None
            raise self._gone() from None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def _open(self) -> Atlas:
        try:
            atlas = Atlas.open(self.url)
        except StoreError as error:
            self._snapshot = None
            raise (RequestError(503, str(error)) if self.files.exists(HEADER) else self._gone()) from error
        if "collect" not in atlas.done:
            hint = "Run its `headatlas collect` command again to resume it."
            raise RequestError(503, f"{self.url} is not complete.", hint)
        return atlas

    def _gone(self) -> RequestError:
        return RequestError(410, f"{self.url} no longer exists.", "Put it back, or serve another atlas.")


def _explained(error: Exception, url: str) -> Exception:
    """Files that cannot be read are not an internal error."""
    if isinstance(error, OSError):
        return RequestError(503, f"{url} cannot be read: {error.strerror or type(error).__name__}.")
    if isinstance(error, StoreError) and not isinstance(error, DamagedChunk):
        return RequestError(404, str(error))
    return error


def _digest(header: dict[str, Any], live: bool, note: str) -> str:
    """Changes whenever a response may change: with the atlas, the model, or the code of this package."""
    digest = hashlib.sha256(json.dumps([header, __version__, live, note], sort_keys=True).encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{file.relative_to(PACKAGE)} {file.stat().st_mtime_ns}".encode())
    return digest.hexdigest()[:24]
