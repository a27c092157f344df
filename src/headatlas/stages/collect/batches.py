"""The maps and statistics of examples, batch by batch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.models import capture
from headatlas.models.encode import Encoded, Tokens
from headatlas.models.groups import Group
from headatlas.models.model import Kind, Model
from headatlas.models.value_norms import value_norms
from headatlas.stages.collect.layout import Layout, image_layout, text_layout
from headatlas.stages.collect.norms import Flags, Moved
from headatlas.stages.collect.reduce import Keep, MakeLayout, MakeSpans, Reduce
from headatlas.stages.collect.spans import Between, between, codes
from headatlas.stages.collect.stat_axis import Statistics

See = Callable[[Group, Any], None]  # of a batch, and what the network returned for it


def reduce_groups(
    model: Model,
    groups: Iterable[Group],
    count: int,
    resolution: int,
    statistics: Statistics,
    keep: Callable[[Group], Keep] | None = None,
    see: See | None = None,
) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Pooled maps (example, layer, head, r, r) and statistics (example, layer, head, stat) of `count` examples.

    `keep` gives for each batch the function that is called with the vectors of each layer; `see` is called after each
    forward pass.
    """
    shape = (count, len(model.layers), model.heads)
    pooled = np.empty((*shape, resolution, resolution), np.float16)
    stats = np.empty((*shape, len(statistics.names)), np.float32)
    for group in groups:
        layouts = _layouts(model, statistics, resolution, group.encoded)
        watcher = Reduce(model, group.batch, statistics, resolution, layouts)
        watcher.keep = None if keep is None else keep(group)
        watcher.spans = _spans(statistics.spans, group.encoded) if statistics.spans else None
        watcher.moved = Moved(value_norms(model), _special_keys(model, group.encoded)) if statistics.norms else None
        output = capture.run(model, group.batch.inputs, watcher)
        if see is not None:
            see(group, output)
        del output
        pooled[group.places], stats[group.places] = watcher.pooled, watcher.stats
    _release_memory()  # not after each batch: the next one would have to ask for most of it again
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
        queries, keys = _tokens(encoded[e], kind)
        return text_layout(queries, keys, statistics.specials, statistics.separator, r, causal)

    return make_layout


def _spans(kinds: Sequence[str], encoded: Sequence[Encoded]) -> MakeSpans:
    """A function that gives the spans of the queries and keys of an example of a batch."""

    @cache
    def spans(e: int, kind: Kind) -> Between:
        queries, keys = (codes(tokens, kinds) for tokens in _tokens(encoded[e], kind))
        return between(queries, keys, len(kinds))

    return spans


def _special_keys(model: Model, encoded: Sequence[Encoded]) -> Callable[[int, Kind], Flags]:
    """A function that says which keys of an example of a batch are special tokens."""

    @cache
    def special(e: int, kind: Kind) -> Flags:
        if model.grid is not None:
            count = len(model.grid.special)
            return np.arange(count + model.grid.rows * model.grid.columns) < count
        return np.asarray(_tokens(encoded[e], kind)[1].special, bool)

    return special


def _tokens(encoded: Encoded, kind: Kind) -> tuple[Tokens, Tokens]:
    """Queries and keys of a text in a kind of layer."""
    source, target = encoded.source, encoded.target or encoded.source
    return source if kind == "encoder" else target, target if kind == "decoder" else source
