"""Forward passes for the page: the full maps of an example, or of a custom text."""

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
from headatlas.numeric.pooling import pool
from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.examples import Token
from headatlas.web.compute.runner import Maps
from headatlas.web.compute.source import Source
from headatlas.web.views.snapshot import Snapshot

TOLERANCE = 0.01  # between a pooled map and the collected one, which is stored in 11 bits


class Canceled(Exception):
    """No client waits for this any more."""


@dataclass(frozen=True)
class Selection:
    """Which maps of a forward pass are kept: all, those of a layer, or one. All maps of a long text may be too many."""

    layer: int | None = None
    head: int | None = None


class MapRecorder(capture.Record):
    """Keeps maps as u16 values, layer by layer, and stops between layers when the job is canceled."""

    def __init__(self, canceled: threading.Event, selection: Selection) -> None:
        super().__init__()
        self.canceled, self.selection = canceled, selection
        self.encoded: Maps = {}
        self.last: NDArray[np.float32] | None = None

    def call(self, layer: Layer, call: capture.Call) -> capture.Attended:
        """Attend as the model does."""
        if self.canceled.is_set():
            raise Canceled
        return super().call(layer, call)

    def map(self, layer: Layer, weights: Tensor) -> None:
        """Keep the selected maps."""
        if self.selection.layer in (None, layer.index):
            head = self.selection.head
            heads = slice(None) if head is None else slice(head, head + 1)
            self.last, self.layer = weights[0, heads].numpy(), layer
            self.encoded[layer.index] = arrays.attention(self.last)


def full_maps(
    model: Model, snapshot: Snapshot, source: Source, selection: Selection, canceled: threading.Event
) -> Maps:
    """The full maps of a text, by layer."""
    recorder = MapRecorder(canceled, selection)
    batch, _ = read_batch(model, snapshot, source)
    capture.run(model, batch.inputs, recorder)
    if source.encoded is None:
        assert recorder.last is not None  # the selected layer exists
        check(snapshot, source.example, recorder.layer, recorder.last, selection.head)
    return recorder.encoded


def read_batch(model: Model, snapshot: Snapshot, source: Source) -> tuple[Batch, Encoded | None]:
    """A text as input of the model: an example from exactly the tokens that were collected, or its image."""
    if source.encoded is not None:
        return text_batch(model, [source.encoded]), source.encoded
    if model.grid is not None:
        return image_batch(model, read_image_paths(snapshot.atlas, [source.example])), None
    encoded = read_tokens(snapshot.atlas, [source.example])
    return text_batch(model, encoded), encoded[0]


def check(
    snapshot: Snapshot, example: int, layer: Layer, maps: NDArray[np.float32], head: int | None = None
) -> None:  # fmt: skip
    """Raise an error unless the pooled maps are those that were collected: equal weights do not prove equal inputs."""
    heads = slice(0, layer.heads) if head is None else slice(head, head + 1)
    collected = snapshot.atlas.read("pooled", (example, layer.index, heads)).astype(np.float32)
    normalized = maps / np.maximum(maps.sum(-1, keepdims=True), 1e-30)  # to the attention that reaches tokens
    if not np.abs(pool(normalized, collected.shape[-1]) - collected).max() <= TOLERANCE:
        raise RequestError(
            409, "The model gives other maps for this example than were collected: its tokenizer, its image processor "
            "or the image has changed.", "Serve the atlas with the model it was made with, or collect it again.",
        )  # fmt: skip


def read_text(model: Model, text: str, pair: str | None, options: Mapping[str, int | None]) -> Encoded:
    """A custom text as the model reads it, truncated like the texts of the atlas."""
    if model.grid is not None:
        raise RequestError(422, f"{model.name} reads images, not texts.")
    windows = encode(model, Example("try", text=text, pair=pair), max_tokens=options.get("max_tokens"))
    if not windows:
        raise RequestError(422, "The text has no tokens.", "Write a word or two.")
    return windows[0]


def token_payloads(encoded: Encoded) -> tuple[list[Token], list[Token]]:
    """Tokens for the page: those of the text, and those of the target."""
    parts = []
    for tokens in (encoded.source, encoded.target):
        rows = zip(tokens.text, tokens.word, tokens.special, tokens.segment, strict=True) if tokens else ()
        parts.append(
            [
                Token(text=text, word=int(word), special=bool(special), segment=int(segment))
                for text, word, special, segment in rows
            ]
        )
    return parts[0], parts[1]
