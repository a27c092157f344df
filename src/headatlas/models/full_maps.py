"""All full maps, or all vectors, of one example."""

from __future__ import annotations

import importlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.data import Example
from headatlas.errors import DataError, ModelError
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded, encode
from headatlas.models.load import ModelLike, load
from headatlas.models.model import Layer, Model, check_head, heads_line
from headatlas.models.pictures import HOW, facts_table, grid, thumbnails
from headatlas.wording import join_list

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, repr=False)
class Attention:
    """The full maps of one example: `maps[layer]` is (head, query, key)."""

    tokens: list[str]
    target_tokens: list[str]
    layers: tuple[Layer, ...]
    maps: list[Array]
    model: str = ""  # its name
    encoded: Encoded | None = None  # the text as the model read it; None for an image

    def map(self, layer: int, head: int) -> Array:
        """One map (query, key)."""
        check_head([len(maps) for maps in self.maps], layer, head)
        attention_map: Array = self.maps[layer][head]
        return attention_map

    def plot(self, layer: int, head: int, *, dark: bool = False) -> Figure:
        """Plot one map with its tokens, as `headatlas.plot.map` does."""
        # Figures are above models, which never import them: they are looked up when one is wanted.
        figure: Figure = importlib.import_module("headatlas.plot").map(self, layer, head, dark=dark)
        return figure

    def __repr__(self) -> str:
        return f"<Attention of {self.model}: {_shape(self)}\n {_sentence(self)}>"

    def _repr_html_(self) -> str:
        facts = {"model": self.model, "maps": _shape(self), "tokens": _sentence(self)}
        return f"<div>{facts_table(facts)}{grid(thumbnails(self.maps), f'Map of each head: {HOW}')}</div>"


@dataclass(frozen=True, slots=True, repr=False)
class Vectors:
    """Queries (head, query, feature), keys and values (key head, key, feature) of one example, one array per layer."""

    tokens: list[str]
    target_tokens: list[str]
    layers: tuple[Layer, ...]
    queries: list[Array]
    keys: list[Array]
    values: list[Array]
    model: str = ""  # its name

    def __repr__(self) -> str:
        shape = f"{heads_line(self.layers)}, queries and keys {max(layer.width for layer in self.layers)} wide"
        return f"<Vectors of {self.model}: {shape}\n {_sentence(self)}>"


def _shape(attention: Attention) -> str:
    """How many maps, and of which sizes (query × key).

    >>> layers = (Layer(0, "encoder", 2, 2, 8, False, "0"),)
    >>> _shape(Attention(["a", "b"], [], layers, [np.zeros((2, 2, 2), np.float32)]))
    '1 encoder layer × 2 heads, maps 2 × 2'
    """
    sizes = dict.fromkeys(" × ".join(map(str, maps.shape[1:])) for maps in attention.maps)
    return f"{heads_line(attention.layers)}, maps {join_list(list(sizes))}"


def _sentence(example: Attention | Vectors) -> str:
    """The tokens, shortened to a line."""
    texts = [" ".join(tokens) for tokens in (example.tokens, example.target_tokens) if tokens]
    return textwrap.shorten(" → ".join(texts), 100, placeholder=" …")


def attention(model: ModelLike, example: str | Path | Example, *, pair: str | None = None) -> Attention:
    """Compute all full maps of one text or image, with their tokens.

    >>> from headatlas import models
    >>> attention = models.attention(models.load("packaged"), "The cat sat.")
    >>> attention.tokens
    ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]']
    >>> attention.map(0, 2).argmax(1)  # L0·H2 attends to the previous token
    array([0, 0, 1, 2, 3, 4])

    Parameters
    ----------
    model : Model, str or path
        A model loaded with `models.load`, or its name. Load it once to read several examples.
    example : str, path or Example
        A text, the path of an image for a model that reads images, or an `Example`.
    pair : str, optional
        The second text of a pair; for an encoder-decoder, the target.

    Returns
    -------
    Attention
        `tokens`, `target_tokens`, `layers`, and `maps`, one array (head, query, key) per layer.
    """
    model = load(model)
    batch, encoded = _batch(model, example, pair)
    record = capture.Record()
    capture.run(model, batch.inputs, record)
    maps = [record.maps[layer.index][0].numpy() for layer in model.layers]
    return Attention(*_tokens(model, encoded), model.layers, maps, model.name, encoded)


def vectors(model: ModelLike, example: str | Path | Example, *, pair: str | None = None) -> Vectors:
    """Compute the queries, keys and values of every head for one example, after rotary embedding.

    >>> from headatlas import models
    >>> vectors = models.vectors(models.load("packaged"), "The cat sat.")
    >>> vectors.queries[0].shape  # (head, query, feature)
    (12, 6, 32)

    Parameters
    ----------
    model, example, pair
        As `attention` takes them.

    Returns
    -------
    Vectors
        `tokens`, `target_tokens`, `layers`, and `queries`, `keys` and `values`, one array per layer. For a family
        outside the registry (`model.route == "outputs"`) they are the outputs of its projections.
    """
    model = load(model)
    if not model.has_vectors:
        raise ModelError(
            f"the queries and keys of {model.family} cannot be read: its attention is outside the registry"
        )
    batch, encoded = _batch(model, example, pair)
    record = capture.Record(maps=False, vectors=True)
    capture.run(model, batch.inputs, record)
    queries, keys, values = (
        [part[layer.index][0].numpy() for layer in model.layers]
        for part in (record.queries, record.keys, record.values)
    )
    return Vectors(*_tokens(model, encoded), model.layers, queries, keys, values, model.name)


def _batch(model: Model, example: str | Path | Example, pair: str | None) -> tuple[Batch, Encoded | None]:
    """One example as input of the model, and as tokens if it is a text."""
    if model.modality == "image":
        path = example.image if isinstance(example, Example) else str(example)
        return image_batch(model, [path or ""]), None
    if not isinstance(example, Example):
        example = Example("0", text=str(example), pair=pair)
    encoded = encode(model, example)
    if not encoded:
        raise DataError("the text is empty: there is nothing to attend to")
    return text_batch(model, encoded[:1]), encoded[0]


def _tokens(model: Model, encoded: Encoded | None) -> tuple[list[str], list[str]]:
    """The tokens of an example, and those of its target."""
    if encoded is None:
        return image_tokens(model), []
    return encoded.source.text, encoded.target.text if encoded.target else []


def image_tokens(model: Model) -> list[str]:
    """Names of an image's tokens: special tokens, then patches as `row,column`."""
    grid = model.grid
    assert grid is not None  # set for every model that reads images
    return [*grid.special, *(f"{row},{column}" for row in range(grid.rows) for column in range(grid.columns))]
