"""A text as detectors read it: layers whose queries can attend to the same keys, and what their tokens are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headatlas.models.encode import Encoded
from headatlas.models.model import Layer
from headatlas.stages.probe.detectors import Detector, Side
from headatlas.stages.probe.key_sets import Labels, Mask, labels
from headatlas.stages.probe.source import ExampleMaps


class Reach(NamedTuple):
    """Which keys the queries of a layer can attend to."""

    causal: bool
    back: int
    ahead: int

    def allowed(self, queries: int, keys: int) -> Mask:
        """(query, key)."""
        away = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        return (away >= -self.back) & (away <= (0 if self.causal else self.ahead))


def reach(maps: NDArray[np.float32], layer: Layer) -> Reach:
    """How far a layer attends in some example: less than the whole text with a sliding window."""
    query, key = np.nonzero(maps.any(0))
    return Reach(layer.causal, int((query - key).max(initial=0)), int((key - query).max(initial=0)))


def side(layer: Layer) -> Side:
    """How a layer attends."""
    return "cross" if layer.kind == "cross" else "causal" if layer.causal else "bidirectional"


@dataclass(frozen=True)
class Alike:
    """Layers whose maps of an example have the same queries, keys and reach."""

    layers: list[Layer]
    reach: Reach


def alike(layers: Sequence[Layer], maps: Sequence[NDArray[np.float32]]) -> list[Alike]:
    """Layers grouped by what their queries can attend to."""
    groups: dict[Any, list[Layer]] = {}
    for layer in layers:
        groups.setdefault((layer.kind, reach(maps[layer.index], layer)), []).append(layer)
    return [Alike(group, reach) for (_, reach), group in groups.items()]


class Reading(NamedTuple):
    """Layers that are alike, with what a detector needs to know about a text, and about draws of its tokens."""

    layers: list[Layer]
    sides: list[tuple[Labels, Labels]]  # labels of queries and keys: of the text first, then of each draw
    allowed: Mask
    maps: NDArray[np.float32]  # (cell, head)

    def keys(self, detector: Detector) -> list[Mask]:
        """The keys of a detector that can be attended to, in the text and, if chance is by tokens, in each draw."""
        counted = self.sides if detector.chance == "tokens" else self.sides[:1]
        return [detector.keys(*pair) & self.allowed for pair in counted]


def readings(example: ExampleMaps, layers: Sequence[Layer], draws: Sequence[Encoded]) -> Iterator[Reading]:
    """A text by groups of layers; `draws` have the tokens of chance at the places of the text's own."""
    texts = [example, *(replace(example, encoded=draw) for draw in draws)]
    for group in alike(layers, example.maps):
        sides = [_sides(text, group.layers[0]) for text in texts]
        allowed = group.reach.allowed(*example.maps[group.layers[0].index].shape[1:])
        yield Reading(group.layers, sides, allowed, by_cell(example, group.layers))


def by_cell(example: ExampleMaps, layers: Sequence[Layer]) -> NDArray[np.float32]:
    """The maps of all heads of some layers, (cell, head)."""
    maps = np.concatenate([example.maps[layer.index] for layer in layers])
    return np.ascontiguousarray(maps.reshape(len(maps), -1).T)


def _sides(example: ExampleMaps, layer: Layer) -> tuple[Labels, Labels]:
    """The labels of queries and keys: one object if these are the same tokens."""
    queries, keys = (example.tokens(layer, queries=queries) for queries in (True, False))
    assert queries is not None and keys is not None  # a text
    known = labels(keys)
    return (known if queries is keys else labels(queries)), known
