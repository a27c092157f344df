"""One text or image as a model reads it: its tokens, all full maps, and the hidden states of each layer."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas import __version__, models, progress
from headatlas.atlas.files import Files
from headatlas.atlas.header import HEADER
from headatlas.atlas.model import load_model
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_image_paths, read_rows, read_tokens
from headatlas.data import Example
from headatlas.errors import DataError, ModelError, OptionError
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded, encode
from headatlas.models.full_maps import image_tokens
from headatlas.models.model import Kind, Layer, Model

Text = str | Path | Example | int
Source = Model | Atlas | str | Path


@dataclass(frozen=True)
class Side:
    """The tokens on one side of a map: text, whether each is special, and its word (−1 for none)."""

    text: list[str]
    special: NDArray[np.bool_]
    word: NDArray[np.int32]


@dataclass(frozen=True)
class Reading:
    """A model and one input for it."""

    model: Model
    batch: Batch
    encoded: Encoded | None  # None for an image

    @property
    def digest(self) -> str:
        """A digest of what was read."""
        digest = hashlib.sha256()
        for name, values in sorted(self.batch.inputs.items()):
            digest.update(name.encode() + values.cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    def recipe(self) -> dict[str, Any]:
        """What was read, and by which model."""
        return {"version": __version__, "model": self.model.hash, "input": self.digest}

    def side(self, kind: Kind, queries: bool) -> Side:
        """Tokens that are the queries, or the keys, of layers of this kind."""
        if self.encoded is None:
            names, grid = image_tokens(self.model), self.model.grid
            special = np.arange(len(names)) < (len(grid.special) if grid else 0)
            return Side(names, special, np.full(len(names), -1, np.int32))
        source, target = self.encoded.source, self.encoded.target or self.encoded.source
        tokens = (source if kind == "encoder" else target) if queries else (target if kind == "decoder" else source)
        after = tokens.segment * (tokens.word.max(initial=-1) + 1)  # a second text numbers its words from 0 again
        return Side(tokens.text, tokens.special, np.where(tokens.word < 0, -1, tokens.word + after).astype(np.int32))

    @cached_property
    def maps(self) -> list[NDArray[np.float32]]:
        """Full maps (head, query, key) of each layer."""
        record = capture.Record()
        capture.run(self.model, self.batch.inputs, record)
        return [record.maps[layer.index][0].numpy() for layer in self.model.layers]

    @cached_property
    def hidden(self) -> dict[int, NDArray[np.float32]]:
        """Hidden states (token, feature) after each layer, by the number of the layer; cross attention has none."""
        network: Any = self.model.network
        with torch.inference_mode():
            output = network(**self.batch.inputs, **capture.flags(network), output_hidden_states=True)
        names = ("hidden_states", "encoder_hidden_states", "decoder_hidden_states")
        outputs = {name: output.get(name) for name in names}
        hidden = {}
        for layer in self.model.layers:
            states = outputs.get(f"{layer.kind}_hidden_states") or outputs["hidden_states"]
            if layer.kind != "cross" and states:
                place = _place(layer, self.model.layers, len(states))
                hidden[layer.index] = states[place][0].float().numpy()
        if not hidden:
            raise ModelError(f"{self.model.name} gives no hidden states")
        return hidden


def _place(layer: Layer, layers: tuple[Layer, ...], states: int) -> int:
    """Where the states after a layer are: the first are embeddings. Layers without attention count as well."""
    same_kind = [other.index for other in layers if other.kind == layer.kind]
    number = re.search(r"\.(\d+)\.", f".{layer.module}.")
    place = same_kind.index(layer.index) if len(same_kind) == states - 1 or number is None else int(number.group(1))
    return min(place + 1, states - 1)


def read(source: Source, text: Text) -> Reading:
    """A text, an image file, or the number of an example of an atlas, read by a model or by the model of an atlas."""
    source = open_source(source)
    if isinstance(source, Atlas):
        if isinstance(text, int):
            check_example(source, text)
            return read_example(load_model(source), source, text)
        options = source.options
        limits = {"max_tokens": options.get("max_tokens"), "overlong": options.get("overlong", "truncate")}
        return _read_text(load_model(source), text, **limits)
    if isinstance(text, int):
        raise OptionError(f"example {text}: only an atlas has numbered examples. Give the text itself")
    return _read_text(source, text)


def open_source(source: Source) -> Model | Atlas:
    """A model or an atlas, loaded or opened if it is named."""
    if isinstance(source, Model | Atlas):
        return source
    if "://" in str(source) or Files(source).exists(HEADER):
        return Atlas.open(source)
    return models.load(str(source))


def check_example(atlas: Atlas, number: int) -> None:
    """Raise OptionError if an atlas has no such example."""
    count = atlas.collection["counts"]["examples"]
    if not 0 <= number < count:
        raise OptionError(f"example {number}: the examples of {atlas.files.url} are 0 to {count - 1:,}")


def read_example(model: Model, atlas: Atlas, number: int) -> Reading:
    """An example of an atlas, from the tokens that were collected."""
    if model.modality == "image":
        return Reading(model, image_batch(model, read_image_paths(atlas, [number])), None)
    encoded = replace(read_tokens(atlas, [number])[0], cut=read_rows(atlas, [number], ["cut"])[0]["cut"])
    return read_encoded(model, encoded)


def read_encoded(model: Model, encoded: Encoded) -> Reading:
    """A text that is tokenized; what was cut off is reported."""
    if encoded.cut:
        length = len(encoded.source)
        progress.say(
            f"the text is longer than the {length:,} tokens that are read: the last {encoded.cut:,} are cut off"
        )
    return Reading(model, text_batch(model, [encoded]), encoded)


def _read_text(model: Model, text: str | Path | Example, **limits: Any) -> Reading:
    if not isinstance(text, Example):
        text = Example("0", image=str(text)) if model.modality == "image" else Example("0", text=str(text))
    if model.modality == "image":
        return Reading(model, image_batch(model, [text.image or ""]), None)
    windows = encode(model, text, **limits) if (text.text or text.pair or "").strip() else []
    if not windows:
        raise DataError("the text is empty: there is nothing to lay out")
    return read_encoded(model, windows[0])


def with_tokens(reading: Reading, ids: NDArray[np.int32]) -> Reading:
    """The same reading with other token ids."""
    if reading.encoded is None:
        raise OptionError("tokens of an image cannot be exchanged")
    source = replace(reading.encoded.source, ids=ids.astype(np.int32))
    encoded = replace(reading.encoded, source=source)
    return Reading(reading.model, text_batch(reading.model, [encoded]), encoded)
