"""Forward passes for the page: the full maps of one example, or of a text of one's own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.data import Example
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded, encode
from headatlas.models.model import Layer, Model
from headatlas.stages.collect.layout import overlaps
from headatlas.web.api import encoding
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Token
from headatlas.web.views.site import View

LIKE = 0.01  # how far a pooled map may be from the collected one; these are kept in 11 bits


class GivenUp(Exception):
    """Nobody waits for this any more."""


@dataclass(frozen=True)
class Part:
    """What is kept of a forward pass: all maps, those of a layer, or one; all of a long text may be too many."""

    layer: int | None = None
    head: int | None = None


class Watch(capture.Record):
    """Keeps maps as u16, layer by layer, and stops between layers when nobody waits."""

    def __init__(self, stop: threading.Event, part: Part) -> None:
        super().__init__()
        self.stop, self.part = stop, part
        self.words: dict[int, encoding.Words] = {}  # (head, query, key)
        self.last: NDArray[np.float32] | None = None

    def call(self, layer: Layer, call: capture.Call) -> capture.Attended:
        """Attend as the model does."""
        if self.stop.is_set():
            raise GivenUp
        return super().call(layer, call)

    def map(self, layer: Layer, weights: Tensor) -> None:
        """Keep what is asked for."""
        if self.part.layer in (None, layer.index):
            heads = slice(None) if self.part.head is None else slice(self.part.head, self.part.head + 1)
            self.last, self.layer = weights[0, heads].numpy(), layer
            self.words[layer.index] = encoding.attention(self.last)


def of_example(model: Model, view: View, number: int, part: Part, stop: threading.Event) -> dict[int, encoding.Words]:
    """The full maps of an example of the atlas, from the very tokens that were collected."""
    if model.grid is not None:
        batch = image_batch(model, read_image_paths(view.atlas, [number]))
    else:
        batch = text_batch(model, read_tokens(view.atlas, [number]))
    watch = _run(model, batch, part, stop)
    _check(view, number, part, watch)
    return watch.words


def of_text(model: Model, encoded: Encoded, part: Part, stop: threading.Event) -> dict[int, encoding.Words]:
    """The full maps of a text of one's own."""
    return _run(model, text_batch(model, [encoded]), part, stop).words


def _run(model: Model, batch: Batch, part: Part, stop: threading.Event) -> Watch:
    watch = Watch(stop, part)
    capture.run(model, batch.inputs, watch)
    return watch


def _check(view: View, number: int, part: Part, watch: Watch) -> None:
    assert watch.last is not None  # a layer that exists was asked for
    check(view, number, watch.layer, watch.last, part.head)


def check(view: View, number: int, layer: Layer, maps: NDArray[np.float32], head: int | None = None) -> None:
    """The maps, pooled, must be those that were collected: weights alone do not say how an input is prepared."""
    heads = slice(0, layer.heads) if head is None else slice(head, head + 1)
    there = view.atlas.read("pooled", (number, layer.index, heads)).astype(np.float32)
    found = pooled(maps, there.shape[-1])
    if not np.abs(found - there).max() <= LIKE:
        raise Problem(
            409, "The model gives other maps for this example than were collected: its tokenizer, its image processor "
            "or the picture is not what it was.", "Serve the atlas with the model it was made with, or collect anew.",
        )  # fmt: skip


def pooled(maps: NDArray[np.float32], r: int) -> NDArray[np.float32]:
    """Maps (head, query, key) brought to one size, each row scaled to what reaches tokens."""
    queries, keys = maps.shape[1:]
    rows, columns = overlaps(queries, r).T / queries, overlaps(keys, r) / r
    whole = maps / np.maximum(maps.sum(-1, keepdims=True), 1e-30)
    found: NDArray[np.float32] = rows.astype(np.float32) @ whole @ columns.astype(np.float32)
    return found


def read_text(model: Model, text: str, pair: str | None, options: Mapping[str, int | None]) -> Encoded:
    """A text of one's own as the model reads it, cut where the texts of the atlas were."""
    if model.grid is not None:
        raise Problem(422, f"{model.name} reads images, not texts.")
    found = encode(model, Example("try", text=text, pair=pair), max_tokens=options.get("max_tokens"))
    if not found:
        raise Problem(422, "The text has no tokens.", "Write a word or two.")
    return found[0]


def shown(encoded: Encoded) -> tuple[list[Token], list[Token]]:
    """Tokens for the page: those of the text, and those of the target."""
    parts = []
    for one in (encoded.source, encoded.target):
        rows = zip(one.text, one.word, one.special, one.segment, strict=True) if one else ()
        parts.append([Token(text=t, word=int(w), special=bool(s), segment=int(g)) for t, w, s, g in rows])
    return parts[0], parts[1]
