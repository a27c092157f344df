"""An atlas at one moment: what views make payloads from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headatlas.web.api.errors import RequestError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

Value = TypeVar("Value")


@dataclass(frozen=True)
class ExportedExamples:
    """The examples whose maps, layouts, and queries and keys an exported page holds."""

    pooled: frozenset[int]
    full: tuple[int, ...]
    tsne: tuple[int, ...]
    vectors: frozenset[int] = frozenset()


@dataclass(eq=False)
class Snapshot:
    """An atlas whose header does not change. Values that are slow to compute are kept with it."""

    atlas: Atlas
    tag: str = ""  # the ETag of all responses
    live: bool = False  # full maps can be computed
    live_note: str = ""  # why not
    exported: ExportedExamples | None = None  # None: the atlas is served
    editable: bool = False  # notes can be changed
    _blocks: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _values: dict[Hashable, Any] = field(default_factory=dict)
    _locks: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cached(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `make()`, computed once."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            value: Value = self._values[key]
            return value

    def block_of(self, key: str, example: int, size: int, read: Callable[[int, int], Value]) -> tuple[int, Value]:
        """The block of examples that holds an example, and where it starts. The last is kept: readers go in order."""
        start = example // size * size
        with self._lock:
            block = self._blocks.get(key, (-1, None))
        if block[0] != start:
            block = (start, read(start, start + size))
            with self._lock:
                self._blocks[key] = block
        return block

    @property
    def shape(self) -> tuple[int, int, int]:
        """Examples, layers, heads."""
        examples, layers, heads = self.atlas.array("stats").shape[:3]
        return int(examples), int(layers), int(heads)

    @property
    def name(self) -> str:
        """The name of the atlas."""
        return Path(self.atlas.files.url.rstrip("/")).name

    def command(self, stage: str) -> str:
        """The command that runs a stage; an exported page does not reveal where the atlas was."""
        command = self.atlas.command(stage)
        return command.replace(self.atlas.files.url, self.name) if self.exported else command

    def has_pooled_maps(self, example: int) -> bool:
        """Whether the pooled maps of an example are available."""
        return self.exported is None or example in self.exported.pooled

    def has_full_maps(self, example: int) -> bool:
        """Whether the full maps of an example are available."""
        return self.live if self.exported is None else example in self.exported.full

    def has_tsne(self, example: int) -> bool:
        """Whether head t-SNE of an example is available."""
        return self.live if self.exported is None else example in self.exported.tsne

    @property
    def sampled(self) -> dict[int, tuple[int, int]]:
        """The examples whose queries and keys are stored: their first row, and how many."""
        return self.cached("sampled", self._sampled)

    def _sampled(self) -> dict[int, tuple[int, int]]:
        if not self.atlas.has_array("query"):
            return {}
        rows = self.atlas.table("sampled").to_pylist()
        return {row["example"]: (row["offset"], row["tokens"]) for row in rows}

    def has_vectors(self, example: int) -> bool:
        """Whether the queries and keys of an example are available."""
        return example in self.sampled and (self.exported is None or example in self.exported.vectors)

    def result(self, stage: str, name: str, what: str) -> dict[str, Any]:
        """A finished result, or an error that says what to run for it."""
        results = self.atlas.results(stage)
        if name in results:
            entry: dict[str, Any] = results[name]
            return entry
        available = f"Available: {', '.join(results)}." if results else f"{self.name} has no {stage} yet."
        command = "" if results else self.command(stage)
        raise RequestError(404, f"There is no {what} called {name[:80]!r}. {available}", command=command)

    def check_map(self, example: int, layer: int = 0, head: int = 0) -> None:
        """Raise an error unless this map exists."""
        examples, layers, _ = self.shape
        if not 0 <= example < examples:
            raise RequestError(404, f"There is no example {str(example)[:20]}: they go from 0 to {examples - 1:,}.")
        if not 0 <= layer < layers:
            raise RequestError(404, f"There is no layer {str(layer)[:20]}: they go from 0 to {layers - 1}.")
        heads = self.atlas.header["model"]["layers"][layer]["heads"]
        if not 0 <= head < heads:
            raise RequestError(404, f"Layer {layer} has no head {str(head)[:20]}: they go from 0 to {heads - 1}.")
