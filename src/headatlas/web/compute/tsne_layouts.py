"""All layouts of one text, made by `headatlas.tsne` and encoded for the page."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.models.model import Layer, Model
from headatlas.stages.tsne.activity import STRENGTH, chains, head_activity
from headatlas.stages.tsne.affinity import PointMaps, first_tokens, to_points
from headatlas.stages.tsne.align import rotation
from headatlas.stages.tsne.choice import choose
from headatlas.stages.tsne.heads import How, Layouts, lay_out
from headatlas.stages.tsne.reading import Reading
from headatlas.stages.tsne.standard import Standard, standard
from headatlas.web.api import arrays
from headatlas.web.api.payloads.base import PositionScale
from headatlas.web.api.payloads.tsne import VARIANTS, HeadLayout, StateLayout, Tsne
from headatlas.web.compute import forward
from headatlas.web.compute.jobs import Job
from headatlas.web.compute.source import Source
from headatlas.web.views.snapshot import Snapshot

RESTARTS = 8  # as many as the kernel makes at once

Positions = NDArray[np.float32]  # (point, axis)
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class TsneResult:
    """All layouts of one text: the payload, and the buffers by what they are of."""

    payload: Tsne
    positions: dict[str, bytes]  # of heads and of states
    maximum: dict[int, bytes]  # by layer

    @property
    def nbytes(self) -> int:
        """Memory, approximately."""
        buffers = [*self.positions.values(), *self.maximum.values()]
        return 4096 + sum(map(len, buffers)) + 512 * len(self.payload.heads)


def compute(model: Model, snapshot: Snapshot, source: Source, variant: str, job: Job) -> TsneResult:
    """All layouts of an example of the atlas or of a custom text."""
    reading = Reading(model, *forward.read_batch(model, snapshot, source))
    if source.encoded is None:
        last = model.layers[-1]
        forward.check(snapshot, source.example, last, reading.maps[last.index])
    return lay_out_text(reading, source.example, options(variant), job)


def options(variant: str) -> How:
    """How the layouts of a variant are made."""
    special, unit = VARIANTS[variant]
    return How(RESTARTS, special=special, unit=unit)


def lay_out_text(reading: Reading, example: int, how: How, job: Job) -> TsneResult:
    """All heads and all layers of a text; canceled between two heads when no client waits any more."""
    layers, heads = reading.model.layers, choose(reading.model, "all")
    assert reading.maps and reading.hidden  # both forward passes, before threads share them
    vectors = {layer.index: states_of(reading, layer, how) for layer in layers if layer.index in reading.hidden}
    with_states = [layer for layer in layers if len(vectors.get(layer.index, ()))]
    job.total = len(heads) + len(with_states)
    layouts = lay_out(reading, heads, how, lambda work, heads: in_threads(work, heads, job))
    states = in_threads(lambda layer: _states(vectors[layer.index], layer, how), with_states, job)
    rotated = [_rotated(state.layout, layer, layouts) for layer, state in zip(with_states, states, strict=True)]
    points = {layer.index: maps_of(reading, layer, how) for layer in layers}
    payload = Tsne(
        example=example, special=how.special, unit=how.unit, restarts=how.restarts, seed=how.seed, strength=STRENGTH,
        heads=[_head_layout(layouts, points[layer], layers[layer], head) for layer, head in heads],
        layers=[_state_layout(*three) for three in zip(with_states, states, rotated, strict=True)],
        remarks=list(layouts.remarks),
    )  # fmt: skip
    positions = {"heads": _encoded([layouts.layouts[head] for head in heads]), "states": _encoded(rotated)}
    return TsneResult(payload, positions, {layer: maximum(layer_points.maps) for layer, layer_points in points.items()})


def in_threads(make: Callable[[Task], Result], tasks: Sequence[Task], job: Job) -> list[Result]:
    """The result of each task, in order; in separate threads, so that canceling ends nothing else."""
    counting = threading.Lock()

    def run(task: Task) -> Result:
        if job.canceled.is_set():
            raise forward.Canceled
        result = make(task)
        with counting:
            job.done += 1
        return result

    with ThreadPoolExecutor(parallel.cores(), "headatlas-tsne") as threads:
        return list(threads.map(run, tasks))


# points: tokens or words, with or without special tokens


def maps_of(reading: Reading, layer: Layer, how: How) -> PointMaps:
    """The maps of a layer (head, query, key), with the points that are laid out."""
    queries, keys = reading.side(layer.kind, True), reading.side(layer.kind, False)
    return to_points(reading.maps[layer.index], queries, keys, special=how.special, unit=how.unit)


def states_of(reading: Reading, layer: Layer, how: How) -> NDArray[np.float32]:
    """Hidden states (point, feature) after a layer; of a word the mean over its tokens."""
    side = reading.side(layer.kind, True)
    first = first_tokens(side, how.unit)
    sizes = np.diff([*first, len(side.text)])
    means = np.add.reduceat(reading.hidden[layer.index].astype(np.float64), first, 0) / sizes[:, None]
    states: NDArray[np.float32] = means[~side.special[first] | how.special].astype(np.float32)
    return states


def maximum(maps: NDArray[np.float64]) -> bytes:
    """The largest attention each key gets (head, key) in maps (head, query, key), then the query it comes from."""
    if not maps.size:
        return b""
    queries: arrays.U16 = maps.argmax(1).astype(arrays.DTYPE)
    return arrays.attention(maps.max(1)).tobytes() + queries.tobytes()


# payloads of layouts


def _states(vectors: NDArray[np.float32], layer: Layer, how: How) -> Standard:
    """With the same kernel and as many restarts as the heads, so that KL can be compared."""
    return standard(vectors, restarts=how.restarts, seed=(how.seed, layer.index), optimizer="kernel")


def _rotated(layout: Positions, layer: Layer, layouts: Layouts) -> Positions:
    """The layout of hidden states, rotated towards the mean shape of the layer's heads."""
    heads = [
        head_layout
        for (index, _), head_layout in layouts.layouts.items()
        if index == layer.index and np.isfinite(head_layout).all()
    ]
    centered: Positions = layout - layout.mean(0)
    if not heads or len(heads[0]) != len(layout):
        return centered
    mean = np.mean([head / max(float(np.linalg.norm(head)), 1e-12) for head in heads], 0)
    rotated: Positions = (centered @ rotation(centered, mean)).astype(np.float32)
    return rotated


def _head_layout(layouts: Layouts, points: PointMaps, layer: Layer, head: int) -> HeadLayout:
    key, cross, attention = (layer.index, head), layer.kind == "cross", points.maps[head]
    steps = np.zeros(1) if cross or not attention.size else chains(attention, points.special)
    return HeadLayout(
        layer=layer.index, head=head, kl=_finite(layouts.kl[key]), mass=layouts.mass[key],
        activity=head_activity(attention, points.special, cross) if attention.size else 0.0,
        chain=int(steps.max()), chain_mean=float(steps.mean()), notes=list(layouts.notes[key]),
        scale=_scale(layouts.layouts[key]),
    )  # fmt: skip


def _state_layout(layer: Layer, state: Standard, positions: Positions) -> StateLayout:
    perplexity = None if math.isnan(state.perplexity) else state.perplexity
    return StateLayout(
        layer=layer.index, kl=_finite(state.kl), perplexity=perplexity, notes=list(state.notes),
        scale=_scale(positions),
    )  # fmt: skip


def _finite(kl: NDArray[Any]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in kl]


def _scale(positions: Positions) -> PositionScale:
    """How the encoded positions become coordinates."""
    finite = positions[np.isfinite(positions).all(1)].astype(np.float64)
    if not len(finite):
        return PositionScale(x=0, y=0, step=0)
    return arrays.position_scale(finite.min(0), finite.max(0))


def _encoded(layouts: list[Positions]) -> bytes:
    return b"".join(arrays.positions(layout).tobytes() for layout in layouts)
