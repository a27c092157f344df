"""What analyses read: the examples that were drawn, their full maps, and which of them have one source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.display import mean_maps
from headatlas.atlas.groups import group_column, read_groups
from headatlas.atlas.model import load_model
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.models import capture
from headatlas.models.batch import Batch
from headatlas.models.encode import Encoded, Tokens
from headatlas.models.groups import Group, image_groups, text_groups
from headatlas.models.head_weights import HeadWeights, head_weights
from headatlas.models.load import ModelLike
from headatlas.models.model import Layer, Model
from headatlas.models.output_weights import OutputWeights, output_weights
from headatlas.models.random_weights import untrained
from headatlas.models.shuffle import shuffled

Map = NDArray[np.float32]

MOST_TOKENS = 1024  # of a batch: full maps of all its examples are in memory at once


@dataclass(frozen=True)
class ExampleMaps:
    """The full maps of one example, without padding: `maps[layer]` is (head, query, key)."""

    number: int
    encoded: Encoded | None  # None for an image
    maps: list[Map]
    values: list[Any] = field(default_factory=list)  # torch.Tensor (key head, key, feature) per layer, if asked for

    def tokens(self, layer: Layer, *, queries: bool) -> Tokens | None:
        """The tokens that are the queries, or the keys, of a layer; None for an image."""
        if self.encoded is None:
            return None
        source, target = self.encoded.source, self.encoded.target or self.encoded.source
        if queries:
            return source if layer.kind == "encoder" else target
        return target if layer.kind == "decoder" else source

    def words(self, layer: Layer) -> NDArray[np.int32] | None:
        """The word of each token, -1 for none; None in layers where queries or keys are not the tokens of the source.

        The annotation of words, such as a treebank's, is about the source.
        """
        assert self.encoded is not None  # words are words of a text
        if layer.kind != "encoder" and self.encoded.target is not None:
            return None
        return self.encoded.source.word

    def has_tokens(self, words: int) -> NDArray[np.bool_]:
        """Whether each word was read: the end of a text longer than the model allows is not."""
        assert self.encoded is not None  # words are words of a text
        word = self.encoded.source.word
        return np.bincount(word[(word >= 0) & (word < words)], minlength=words) > 0


@dataclass(frozen=True)
class Source:
    """An atlas, and the numbers of the examples that an analysis looks at."""

    atlas: Atlas
    numbers: list[int]
    given: ModelLike | None = None  # the model, where it cannot be loaded by the name that the atlas recorded
    lock: threading.RLock = field(default_factory=threading.RLock)
    loaded: list[Model] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)  # what an analysis finds once for all its blocks

    @property
    def model(self) -> Model:
        """The model of the atlas, loaded at first use, by one thread."""
        with self.lock:
            if not self.loaded:
                self.loaded.append(load_model(self.atlas, self.given))
        return self.loaded[0]

    def once(self, name: str, find: Callable[[], Any]) -> Any:
        """What `find` returns, found at first use, by one thread."""
        with self.lock:
            if name not in self.kept:
                self.kept[name] = find()
        return self.kept[name]

    def untrained(self, seed: int) -> Source:
        """The same examples read by a model with random weights, which is made at first use."""
        model = self.once(f"untrained {seed}", lambda: untrained(self.model, seed))
        return replace(self, loaded=[model], kept={})

    def elsewhere(self, atlas: Atlas, numbers: list[int]) -> Source:
        """Examples of another atlas of the same model."""
        return replace(self, atlas=atlas, numbers=numbers, loaded=[self.model])

    @property
    def trial(self) -> Batch:
        """The first example, for a forward pass that shows where weights are."""
        return next(iter(self.batches(self.numbers[:1]))).batch

    @property
    def output_weights(self) -> list[OutputWeights]:
        """What heads write with, layer by layer, found at first use."""
        weights: list[OutputWeights] = self.once("output_weights", lambda: output_weights(self.model, self.trial))
        return weights

    @property
    def head_weights(self) -> dict[int, HeadWeights]:
        """What heads read and write with, by layer, found at first use; those of cross-attention are left out."""
        weights: dict[int, HeadWeights] = self.once("head_weights", lambda: head_weights(self.model, self.trial))
        return weights

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The group of each example of the atlas: examples of one group have one source, and are drawn together."""
        number: NDArray[np.int64] = read_groups(self.atlas, group_column(self.atlas, None)).number
        return number

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Layer and head of every head that exists."""
        layers: list[dict[str, Any]] = self.atlas.header["model"]["layers"]
        return [(layer["index"], head) for layer in layers for head in range(layer["heads"])]

    @cached_property
    def mean_maps(self) -> NDArray[np.float64]:
        """The mean pooled map of each head over all examples, (layer, head, r, r)."""
        return mean_maps(self.atlas)

    def maps(
        self, numbers: Sequence[int], *, shuffled_by: int | None = None, values: bool = False
    ) -> Iterator[ExampleMaps]:
        """The full maps of some examples, as the model computes them, in the order of their lengths.

        `shuffled_by` is a seed: the tokens of each text are shuffled before the model reads it. `values` keeps the
        values of all keys as well.
        """
        return self.maps_of(self.batches(numbers, shuffled_by=shuffled_by), numbers, values=values)

    def maps_of(
        self, groups: Iterable[Group], numbers: Sequence[int], *, values: bool = False
    ) -> Iterator[ExampleMaps]:
        """The full maps of examples in batches, each with its number by its place in `numbers`."""
        for group in groups:
            record = capture.Record(vectors=values)
            capture.run(self.model, group.batch.inputs, record)
            for place, example in enumerate(group.places):
                maps = [_cut(record.maps[layer.index], group, place, layer) for layer in self.model.layers]
                kept = [_cut_values(record, group, place, layer) for layer in self.model.layers if values]
                yield ExampleMaps(numbers[example], group.encoded[place] if group.encoded else None, maps, kept)

    def batches(self, numbers: Sequence[int], *, shuffled_by: int | None = None) -> Iterator[Group]:
        """Some examples in batches of similar length; places are those in `numbers`."""
        if self.model.grid is not None:
            return image_groups(self.model, read_image_paths(self.atlas, numbers), MOST_TOKENS)
        encoded = read_tokens(self.atlas, numbers)
        if shuffled_by is not None:
            pairs = zip(encoded, numbers, strict=True)
            encoded = [shuffled(example, shuffled_by, number) for example, number in pairs]
        return text_groups(self.model, encoded, MOST_TOKENS)


def _cut(maps: Any, group: Group, place: int, layer: Layer) -> Map:
    """The maps of one example of a batch, without padding."""
    queries, keys = group.batch.extent(place, layer.kind)
    cut: Map = maps[place, :, :queries, :keys].float().numpy()
    return cut


def _cut_values(record: capture.Record, group: Group, place: int, layer: Layer) -> Any:
    keys = group.batch.extent(place, layer.kind)[1]
    return record.values[layer.index][place, :, :keys]


def drawn_examples(atlas: Atlas, count: int, seed: int) -> list[int]:
    """The numbers of the first examples of a random order, sorted: a larger draw includes a smaller one."""
    order = np.random.default_rng(seed).permutation(atlas.collection["counts"]["examples"])
    return sorted(int(number) for number in order[:count])
