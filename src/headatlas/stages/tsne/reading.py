"""One text (or image) as a model reads it: its tokens, all full maps, and the hidden states of each layer."""

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
from headatlas.atlas.store import HEADER, Atlas
from headatlas.data import Example
from headatlas.errors import DataError, ModelError, OptionError
from headatlas.models import capture, packaged
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded, Tokens, encode
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

    def recipe(self) -> dict[str, Any]:
        """What was read, and by which model."""
        digest = hashlib.sha256()
        for name, values in sorted(self.batch.inputs.items()):
            digest.update(name.encode() + values.cpu().numpy().tobytes())
        return {"version": __version__, "model": self.model.hash, "input": digest.hexdigest()[:16]}

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
        """Full maps (head, query, key), a layer each."""
        record = capture.Record()
        capture.run(self.model, self.batch.inputs, record)
        return [record.maps[layer.index][0].numpy() for layer in self.model.layers]

    @cached_property
    def hidden(self) -> dict[int, NDArray[np.float32]]:
        """Hidden states (token, feature) after each layer, by the number of the layer; cross attention has none."""
        network: Any = self.model.network
        with torch.inference_mode():
            output = network(**self.batch.inputs, **capture.flags(network), output_hidden_states=True)
        states = {
            name: output.get(name) for name in ("hidden_states", "encoder_hidden_states", "decoder_hidden_states")
        }
        found = {}
        for layer in self.model.layers:
            own = states.get(f"{layer.kind}_hidden_states") or states["hidden_states"]
            if layer.kind != "cross" and own:
                found[layer.index] = own[_place(layer, self.model.layers, len(own))][0].float().numpy()
        if not found:
            raise ModelError(f"{self.model.name} gives no hidden states")
        return found


def _place(layer: Layer, layers: tuple[Layer, ...], states: int) -> int:
    """Where the states after a layer are: the first are embeddings. Layers without attention count as well."""
    same = [one.index for one in layers if one.kind == layer.kind]
    number = re.search(r"\.(\d+)\.", f".{layer.module}.")
    place = same.index(layer.index) if len(same) == states - 1 or number is None else int(number.group(1))
    return min(place + 1, states - 1)


def read(source: Source, text: Text) -> Reading:
    """A text, an image file, or the number of an example of an atlas, read by a model (that of the atlas)."""
    found = opened(source)
    if isinstance(found, Model):
        if isinstance(text, int):
            raise OptionError(f"example {text}: only an atlas has numbered examples. Give the text itself")
        return _read(found, text if isinstance(text, Example) else _example(found, text), {}, 0)
    model = model_of(found)
    options = found.options
    keep = {"max_tokens": options.get("max_tokens"), "overlong": options.get("overlong", "truncate")}
    if isinstance(text, int):
        example, window = _of_atlas(found, text)
        return _read(model, example, keep, window)
    return _read(model, text if isinstance(text, Example) else _example(model, text), keep, 0)


def opened(source: Source) -> Model | Atlas:
    """A model or an atlas, loaded or opened if it is named."""
    if isinstance(source, Model | Atlas):
        return source
    if "://" in str(source) or Files(source).exists(HEADER):
        return Atlas.open(source)
    return models.load(str(source))


def model_of(atlas: Atlas) -> Model:
    """The model an atlas was made with; another one is refused."""
    facts = atlas.header["model"]
    name = "packaged" if facts["name"] == packaged.NAME else facts.get("source") or facts["name"]
    model = models.load(name, modality=facts.get("modality"))
    if model.hash != facts["hash"]:
        raise ModelError(
            f"{name} is not the model {atlas.files.url} was made with. Give the model in place of the atlas"
        )
    return model


def _example(model: Model, text: str | Path) -> Example:
    return Example("0", image=str(text)) if model.modality == "image" else Example("0", text=str(text))


def _of_atlas(atlas: Atlas, number: int) -> tuple[Example, int]:
    table = atlas.table("examples", columns=["id", "text", "pair", "image", "window"])
    if not 0 <= number < table.num_rows:
        raise OptionError(f"example {number}: the examples of {atlas.files.url} are 0 to {table.num_rows - 1:,}")
    row = table.slice(number, 1).to_pylist()[0]
    return Example(row["id"], text=row["text"], pair=row["pair"], image=row["image"]), row["window"] or 0


def _read(model: Model, example: Example, options: dict[str, Any], window: int) -> Reading:
    if model.modality == "image":
        return Reading(model, image_batch(model, [example.image or ""]), None)
    found = encode(model, example, **options) if (example.text or example.pair or "").strip() else []
    if not found:
        raise DataError("the text is empty: there is nothing to lay out")
    encoded = found[min(window, len(found) - 1)]
    if encoded.cut:
        kept = len(encoded.source)
        progress.say(f"the text is longer than the {kept:,} tokens that are read: the last {encoded.cut:,} are cut off")
    return Reading(model, text_batch(model, [encoded]), encoded)


def with_tokens(reading: Reading, ids: NDArray[np.int32]) -> Reading:
    """The same reading with other token ids in the places of its own."""
    if reading.encoded is None:
        raise OptionError("tokens of an image cannot be exchanged")
    source: Tokens = replace(reading.encoded.source, ids=ids.astype(np.int32))
    encoded = replace(reading.encoded, source=source)
    return Reading(reading.model, text_batch(reading.model, [encoded]), encoded)
