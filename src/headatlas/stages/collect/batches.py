"""The maps and statistics of examples, batch by batch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.models import capture
from headatlas.models.encode import Encoded
from headatlas.models.groups import Group
from headatlas.models.model import Kind, Model
from headatlas.stages.collect.layout import Layout, image_layout, text_layout
from headatlas.stages.collect.reduce import Keep, MakeLayout, Reduce
from headatlas.stages.collect.stat_axis import Statistics, statistics_of


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
