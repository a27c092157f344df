"""Examples in batches of similar length, and the maps and statistics of each."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded
from headatlas.models.model import Kind, Model
from headatlas.stages.collect.layout import Layout, image_layout, text_layout
from headatlas.stages.collect.reduce import Keep, MakeLayout, Reduce
from headatlas.stages.collect.stat_axis import Statistics, statistics_of


@dataclass(frozen=True, slots=True)
class Group:
    """Examples of one forward pass: their places in the list they come from, and the tokens of texts."""

    places: list[int]
    batch: Batch
    encoded: list[Encoded]


def text_groups(model: Model, encoded: Sequence[Encoded], most_tokens: int) -> Iterator[Group]:
    """Texts of similar length, each batch within the token budget, padding included."""
    lengths = [(len(example.source), len(example.target) if example.target else 0) for example in encoded]
    places: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (sum(lengths[place]), lengths[place])):
        full = sum(lengths[place]) * (len(places) + 1) > most_tokens
        if places and (full or (not model.padding and lengths[place] != lengths[places[0]])):
            yield _text_group(model, encoded, places)
            places = []
        places.append(place)
    yield _text_group(model, encoded, places)


def _text_group(model: Model, encoded: Sequence[Encoded], places: list[int]) -> Group:
    parallel.check()
    chosen = [encoded[place] for place in places]
    return Group(places, text_batch(model, chosen), chosen)


def image_groups(model: Model, paths: Sequence[str], most_tokens: int) -> Iterator[Group]:
    """Images, as many in a batch as the token budget allows."""
    assert model.grid is not None  # set for every model that reads images
    size = max(1, most_tokens // (len(model.grid.special) + model.grid.rows * model.grid.columns))
    for start in range(0, len(paths), size):
        parallel.check()
        chosen = paths[start : start + size]
        yield Group(list(range(start, start + len(chosen))), image_batch(model, chosen), [])


def reduce_groups(
    model: Model,
    groups: Iterable[Group],
    count: int,
    resolution: int,
    keep: Callable[[Group], Keep] | None = None,
) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Pooled maps (example, layer, head, r, r) and statistics (example, layer, head, stat) of `count` examples.

    `keep` gives for each batch the function that is called with the vectors of each layer.
    """
    statistics = statistics_of(model)
    shape = (count, len(model.layers), model.heads)
    pooled = np.empty((*shape, resolution, resolution), np.float16)
    stats = np.empty((*shape, len(statistics.names)), np.float32)
    for group in groups:
        layouts = _layouts(model, statistics, resolution, group.encoded)
        watcher = Reduce(model, group.batch, statistics, resolution, layouts)
        watcher.keep = None if keep is None else keep(group)
        capture.run(model, group.batch.inputs, watcher)
        pooled[group.places], stats[group.places] = watcher.pooled, watcher.stats
        _release_memory()
    return pooled, stats


def _release_memory() -> None:
    """Return freed memory to the system: batches have many shapes, and the C library would keep the remainders."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _layouts(model: Model, statistics: Statistics, r: int, encoded: Sequence[Encoded]) -> MakeLayout:
    """A function that makes the layout of an example of a batch for a kind of layer."""

    def make_layout(e: int, kind: Kind, causal: bool) -> Layout:
        if model.grid is not None:
            return image_layout(model.grid, r)
        source, target = encoded[e].source, encoded[e].target or encoded[e].source
        queries = source if kind == "encoder" else target
        keys = target if kind == "decoder" else source
        return text_layout(queries, keys, statistics.specials, statistics.separator, r, causal)

    return make_layout
