"""The atlas that is served: as it is now, though stages may finish, or the folder go away, meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headatlas import __version__
from headatlas.atlas.store import HEADER, Atlas
from headatlas.errors import DamagedChunk, StoreError
from headatlas.web.api.errors import Problem

if TYPE_CHECKING:
    from headatlas.web.compute.live import Live

Made = TypeVar("Made")
AGAIN = 2.0  # seconds after which a header that is not a local file is read again
TRIES = 3


@dataclass(eq=False)
class View:
    """An atlas at one moment: its header does not change. What is costly to know is found out once."""

    atlas: Atlas
    tag: str = ""
    live: bool = False
    note: str = ""  # why there are no full maps
    static: bool = False
    full: tuple[int, ...] = ()  # examples whose full maps are there, of an exported page
    laid: tuple[int, ...] = ()  # examples whose head t-SNE is there, of an exported page
    pages: range | frozenset[int] | None = None  # examples that have pages, of an exported page; None: all
    _near: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _memo: dict[Hashable, Any] = field(default_factory=dict)
    _locks: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._memo:
                self._memo[key] = make()
            found: Made = self._memo[key]
            return found

    def near(self, key: str, number: int, stretch: int, make: Callable[[int, int], Made]) -> tuple[int, Made]:
        """The stretch of examples that holds this one, and its first: the latest is kept, since readers go in order."""
        start = number // stretch * stretch
        with self._lock:
            kept = self._near.get(key, (-1, None))
        if kept[0] != start:
            kept = (start, make(start, start + stretch))
            with self._lock:
                self._near[key] = kept
        return kept

    @property
    def shape(self) -> tuple[int, int, int]:
        """Examples, layers, heads."""
        examples, layers, heads = self.atlas.array("stats").shape[:3]
        return int(examples), int(layers), int(heads)

    @property
    def name(self) -> str:
        """What the atlas is called."""
        return Path(self.atlas.files.url.rstrip("/")).name

    def command(self, stage: str) -> str:
        """The command that makes what is missing; an exported page does not tell where the atlas lay."""
        command = self.atlas.command(stage)
        return command.replace(self.atlas.files.url, self.name) if self.static else command

    def result(self, stage: str, name: str, what: str) -> dict[str, Any]:
        """A finished result, or what to run for it."""
        there = self.atlas.results(stage)
        if name in there:
            found: dict[str, Any] = there[name]
            return found
        have = f"There are {', '.join(there)}." if there else f"{self.name} has no {stage} yet."
        raise Problem(404, f"There is no {what} called {name[:80]!r}. {have}", "" if there else self.command(stage))

    def check(self, example: int, layer: int = 0, head: int = 0) -> None:
        """Stop unless there is such a map."""
        examples, layers, _ = self.shape
        if not 0 <= example < examples:
            raise Problem(404, f"There is no example {str(example)[:20]}: they go from 0 to {examples - 1:,}.")
        if not 0 <= layer < layers:
            raise Problem(404, f"There is no layer {str(layer)[:20]}: they go from 0 to {layers - 1}.")
        heads = self.atlas.header["model"]["layers"][layer]["heads"]
        if not 0 <= head < heads:
            raise Problem(404, f"Layer {layer} has no head {str(head)[:20]}: they go from 0 to {heads - 1}.")


class Site:
    """Gives the atlas as it is now."""

    def __init__(self, atlas: Atlas, live: Live | None = None) -> None:
        self.url, self.files, self.live = atlas.files.url, atlas.files, live
        self._lock = threading.Lock()
        self._seen: object = None
        self._view: View | None = None
        self.view()

    def view(self) -> View:
        """The atlas now: the same object as before unless atlas.json has changed."""
        with self._lock:
            seen = (self._look(), 0 if self.live is None else self.live.turn)
            if self._view is None or seen != self._seen:
                atlas = self._open()
                live, note = (False, "") if self.live is None else self.live.state(atlas)
                tag = _digest(atlas.header, live, note)
                if self._view is None or tag != self._view.tag:
                    self._view = View(atlas, tag, live, note)
                self._seen = seen
            return self._view

    def make(self, make: Callable[[View], Made]) -> tuple[Made, View]:
        """What `make` gives of the atlas, all of it from one state of the atlas."""
        for attempt in range(TRIES):
            view = self.view()
            try:
                made = make(view)
            except Exception as error:
                if self.view() is view or attempt == TRIES - 1:
                    raise _explained(error, self.url) from error
                continue
            if self.view() is view:
                return made, view
        raise Problem(503, f"{self.url} is being changed. Ask again in a moment.", headers={"retry-after": "1"})

    def _look(self) -> object:
        if not self.files.local:
            return time.monotonic() // AGAIN
        try:
            facts = os.stat(self.files.path(HEADER))  # noqa: PTH116 - a path of fsspec
        except OSError:
            self._view = None
            raise self._gone() from None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def _open(self) -> Atlas:
        try:
            atlas = Atlas.open(self.url)
        except StoreError as error:
            self._view = None
            raise (Problem(503, str(error)) if self.files.exists(HEADER) else self._gone()) from error
        if "collect" not in atlas.done:
            raise Problem(503, f"{self.url} is not complete.", "Run its `headatlas collect` command again to go on.")
        return atlas

    def _gone(self) -> Problem:
        return Problem(410, f"{self.url} is not there any more.", "Put it back, or serve another atlas.")


def _explained(error: Exception, url: str) -> Exception:
    """Files that cannot be read are no fault of this program."""
    if isinstance(error, OSError):
        return Problem(503, f"{url} cannot be read: {error.strerror or type(error).__name__}.")
    if isinstance(error, StoreError) and not isinstance(error, DamagedChunk):
        return Problem(404, str(error))
    return error


def _digest(header: dict[str, Any], live: bool, note: str) -> str:
    """Changes when an answer may change: with the atlas, this version, or the code of these files."""
    digest = hashlib.sha256(json.dumps([header, __version__, live, note], sort_keys=True).encode())
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(f"{file.name} {file.stat().st_mtime_ns}".encode())
    return digest.hexdigest()[:24]
