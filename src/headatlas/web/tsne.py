"""Head t-SNE for the page: all layouts of one text, made by `headatlas.tsne` and kept as the page reads them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.collect.tables import read_examples, read_images
from headatlas.models.batch import image_batch, text_batch
from headatlas.models.encode import Encoded
from headatlas.models.facts import Layer, Model
from headatlas.tsne import kernel
from headatlas.tsne.activity import STRENGTH, chains, head_activity
from headatlas.tsne.affinity import Empty
from headatlas.tsne.align import align, rotation
from headatlas.tsne.heads import _remarks, head_affinity, head_points
from headatlas.tsne.reading import Reading
from headatlas.tsne.standard import Standard, standard
from headatlas.web import forward, quantise
from headatlas.web.payloads import Frame
from headatlas.web.payloads_tsne import HeadLayout, StateLayout, Tsne
from headatlas.web.site import View

RESTARTS = 8  # as many as the kernel makes at once
SEED = 0

Place = NDArray[np.float32]
Task = TypeVar("Task")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Laid:
    """Everything of one text: the answer, and its buffers by name."""

    answer: Tsne
    buffers: dict[str, bytes] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return 4096 + sum(map(len, self.buffers.values())) + 512 * len(self.answer.heads)


def of_example(model: Model, view: View, number: int, stop: threading.Event) -> Laid:
    """An example of the atlas, from the very tokens that were collected."""
    if model.grid is not None:
        reading = Reading(model, image_batch(model, read_images(view.atlas, [number])), None)
    else:
        encoded = read_examples(view.atlas, [number])
        reading = Reading(model, text_batch(model, encoded), encoded[0])
    last = model.layers[-1]
    forward.check(view, number, last, reading.maps[last.index])
    return laid(reading, f"api/examples/{number}", number, stop)


def of_text(model: Model, encoded: Encoded, key: str, stop: threading.Event) -> Laid:
    """A text of one's own."""
    return laid(Reading(model, text_batch(model, [encoded]), encoded), f"api/try/{key}", -1, stop)


def laid(reading: Reading, base: str, number: int, stop: threading.Event) -> Laid:
    """All heads and all layers of a text; given up between two heads when nobody waits any more."""
    layers = reading.model.layers
    heads = [(layer, head) for layer in layers for head in range(layer.heads)]
    assert reading.maps and reading.hidden  # both forward passes, before threads share them
    found = side_by_side(lambda one: _head(reading, *one), heads, stop)
    places = turned([(layer.kind, one[0]) for (layer, _), one in zip(heads, found, strict=True)])
    held = [layer for layer in layers if layer.index in reading.hidden]
    states = side_by_side(lambda layer: _states(reading, layer), held, stop)
    beside = [_beside(one.layout, layer, heads, places) for layer, one in zip(held, states, strict=True)]
    answer = Tsne(
        example=number, restarts=RESTARTS, seed=SEED, strength=STRENGTH,
        heads=[
            _head_layout(reading, layer, head, one, place)
            for (layer, head), one, place in zip(heads, found, places, strict=True)
        ],
        layers=[_state_layout(layer, one, place) for layer, one, place in zip(held, states, beside, strict=True)],
        remarks=_remarks(list(layers), {one.index: head_points(reading, one, True, "token") for one in layers}),
        positions=f"{base}/tsne/heads.bin", states=f"{base}/tsne/states.bin",
        maximum=f"{base}/tsne/maximum/LAYER.bin",
    )  # fmt: skip
    buffers = {"heads": _positions(places), "states": _positions(beside)}
    buffers |= {f"maximum/{layer.index}": strongest(reading.maps[layer.index]) for layer in layers}
    return Laid(answer, buffers)


def side_by_side(make: Callable[[Task], Made], tasks: Sequence[Task], stop: threading.Event) -> list[Made]:
    """What is made of each task, in order; threads of its own, so that giving up ends nothing else."""

    def one(task: Task) -> Made:
        if stop.is_set():
            raise forward.GivenUp
        return make(task)

    with ThreadPoolExecutor(parallel.cores(), "headatlas-tsne") as threads:
        return list(threads.map(one, tasks))


Found = tuple[Place, NDArray[np.float64], float, tuple[str, ...]]


def _head(reading: Reading, layer: Layer, head: int) -> Found:
    """The layout with the least KL, the KL of all, and what is to be said of it."""
    try:
        own = head_affinity(reading, layer, head)
    except Empty as reason:
        count = len(head_points(reading, layer, True, "token").text)
        return np.full((count, 2), np.nan, np.float32), np.full(RESTARTS, np.nan), 0.0, (str(reason),)
    places, kl = kernel.layouts(own.p, restarts=RESTARTS, seed=(SEED, layer.index, head))
    return places[int(kl.argmin())], kl, own.mass, own.notes


def _states(reading: Reading, layer: Layer) -> Standard:
    """By the same kernel and as many restarts as the heads, so that KL can be compared."""
    return standard(reading.hidden[layer.index], restarts=RESTARTS, seed=(SEED, layer.index), optimiser="kernel")


def turned(layouts: Iterable[tuple[str, Place]]) -> list[Place]:
    """Layouts of the same kind of layer have the same points, and are turned to be compared."""
    listed = list(layouts)
    found: dict[int, Place] = {}
    for kind in dict.fromkeys(kind for kind, _ in listed):
        found |= align({number: one for number, (own, one) in enumerate(listed) if own == kind})
    return [found[number] for number in range(len(listed))]


def _beside(layout: Place, layer: Layer, heads: list[tuple[Layer, int]], places: list[Place]) -> Place:
    """Hidden states, turned towards the mean shape of the layer's heads."""
    own = [
        one for (other, _), one in zip(heads, places, strict=True) if other is layer and np.isfinite(one).all()
    ]  # fmt: skip
    centred: Place = layout - layout.mean(0)
    if not own or len(own[0]) != len(layout):
        return centred
    mean = np.mean([one / max(float(np.linalg.norm(one)), 1e-12) for one in own], 0)
    towards: Place = (centred @ rotation(centred, mean)).astype(np.float32)
    return towards


def _head_layout(reading: Reading, layer: Layer, head: int, found: Found, place: Place) -> HeadLayout:
    _, kl, mass, notes = found
    cross, special = layer.kind == "cross", reading.side(layer.kind, False).special
    own = reading.maps[layer.index][head]
    steps = np.zeros(1) if cross else chains(own, special)
    return HeadLayout(
        layer=layer.index, head=head, kl=_known(kl), mass=mass, activity=head_activity(own, special, cross),
        chain=int(steps.max()), chain_mean=float(steps.mean()), notes=list(notes), frame=_frame(place),
    )  # fmt: skip


def _state_layout(layer: Layer, found: Standard, place: Place) -> StateLayout:
    perplexity = None if math.isnan(found.perplexity) else found.perplexity
    return StateLayout(
        layer=layer.index, kl=_known(found.kl), perplexity=perplexity, notes=list(found.notes), frame=_frame(place)
    )


def _known(kl: NDArray[Any]) -> list[float | None]:
    return [float(one) if np.isfinite(one) else None for one in kl]


def _frame(place: Place) -> Frame:
    """What `quantise.positions` makes of these, the other way round."""
    known = place[np.isfinite(place).all(1)].astype(np.float64)
    if not len(known):
        return Frame(x=0, y=0, step=0)
    return quantise.frame(known.min(0), known.max(0))


def _positions(places: list[Place]) -> bytes:
    return b"".join(quantise.positions(one).tobytes() for one in places)


def strongest(maps: NDArray[np.float32]) -> bytes:
    """Of maps (head, query, key) the largest of all heads, then which head has it."""
    whose: quantise.Words = maps.argmax(0).astype("<u2")
    return quantise.attention(maps.max(0)).tobytes() + whose.tobytes()
