"""Head t-SNE for the page: all layouts of one text, made by `headatlas.tsne` and kept as the page reads them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.models.batch import image_batch, text_batch
from headatlas.models.encode import Encoded
from headatlas.models.model import Layer, Model
from headatlas.stages.tsne.activity import STRENGTH, chains, head_activity
from headatlas.stages.tsne.affinity import to_words
from headatlas.stages.tsne.align import rotation
from headatlas.stages.tsne.choice import choose
from headatlas.stages.tsne.heads import How, Layouts, lay_out
from headatlas.stages.tsne.reading import Reading, Side
from headatlas.stages.tsne.standard import Standard, standard
from headatlas.web.api import encoding
from headatlas.web.api.payloads import Frame
from headatlas.web.api.payloads_tsne import HeadLayout, StateLayout, Tsne
from headatlas.web.compute import forward
from headatlas.web.views.site import View

if TYPE_CHECKING:
    from headatlas.web.compute.live import Job

RESTARTS = 8  # as many as the kernel makes at once
WAYS = {  # by the name in the address
    "tsne": How(RESTARTS),
    "tsne-words": How(RESTARTS, unit="word"),
    "tsne-plain": How(RESTARTS, special=False),
    "tsne-plain-words": How(RESTARTS, special=False, unit="word"),
}

Place = NDArray[np.float32]
Points = NDArray[np.int64]
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


def of_example(model: Model, view: View, number: int, name: str, job: Job) -> Laid:
    """An example of the atlas, from the very tokens that were collected."""
    if model.grid is not None:
        reading = Reading(model, image_batch(model, read_image_paths(view.atlas, [number])), None)
    else:
        encoded = read_tokens(view.atlas, [number])
        reading = Reading(model, text_batch(model, encoded), encoded[0])
    last = model.layers[-1]
    forward.check(view, number, last, reading.maps[last.index])
    return laid(reading, f"api/examples/{number}/{name}", number, WAYS[name], job)


def of_text(model: Model, encoded: Encoded, key: str, name: str, job: Job) -> Laid:
    """A text of one's own."""
    reading = Reading(model, text_batch(model, [encoded]), encoded)
    return laid(reading, f"api/try/{key}/{name}", -1, WAYS[name], job)


def laid(reading: Reading, base: str, number: int, how: How, job: Job) -> Laid:
    """All heads and all layers of a text; given up between two heads when nobody waits any more."""
    layers, chosen = reading.model.layers, choose(reading.model, "all")
    assert reading.maps and reading.hidden  # both forward passes, before threads share them
    vectors = {layer.index: states_of(reading, layer, how) for layer in layers if layer.index in reading.hidden}
    held = [layer for layer in layers if len(vectors.get(layer.index, ()))]
    job.total = len(chosen) + len(held)
    found = lay_out(reading, chosen, how, lambda work, heads: side_by_side(work, heads, job))
    states = side_by_side(lambda layer: _states(vectors[layer.index], layer, how), held, job)
    beside = [_beside(one.layout, layer, found) for layer, one in zip(held, states, strict=True)]
    units = {layer.index: maps_of(reading, layer, how) for layer in layers}
    answer = Tsne(
        example=number, special=how.special, unit=how.unit, restarts=how.restarts, seed=how.seed, strength=STRENGTH,
        heads=[_head_layout(found, units[layer], reading.model.layers[layer], head) for layer, head in chosen],
        layers=[_state_layout(layer, one, place) for layer, one, place in zip(held, states, beside, strict=True)],
        remarks=list(found.remarks), positions=f"{base}/heads.bin", states=f"{base}/states.bin",
        maximum=f"{base}/maximum/LAYER.bin",
    )  # fmt: skip
    buffers = {"heads": _positions([found.layouts[one] for one in chosen]), "states": _positions(beside)}
    buffers |= {f"maximum/{number}": maximum(own.maps) for number, own in units.items()}
    return Laid(answer, buffers)


def side_by_side(make: Callable[[Task], Made], tasks: Sequence[Task], job: Job) -> list[Made]:
    """What is made of each task, in order; threads of its own, so that giving up ends nothing else."""
    counting = threading.Lock()

    def one(task: Task) -> Made:
        if job.stop.is_set():
            raise forward.GivenUp
        made = make(task)
        with counting:
            job.done += 1
        return made

    with ThreadPoolExecutor(parallel.cores(), "headatlas-tsne") as threads:
        return list(threads.map(one, tasks))


# points: tokens or words, with or without special ones


@dataclass(frozen=True)
class Units:
    """The maps of a layer (head, query, key) whose queries and keys are the points, and which keys are special."""

    maps: NDArray[np.float64]
    special: NDArray[np.bool_]


def maps_of(reading: Reading, layer: Layer, how: How) -> Units:
    """As `tsne.heads.head_affinity` takes them: words first, then without special tokens; rows are not scaled again."""
    queries, keys = reading.side(layer.kind, True), reading.side(layer.kind, False)
    whole = reading.maps[layer.index]
    if how.unit == "word":
        whole = np.stack([to_words(own, queries.word, keys.word)[0] for own in whole])
    rows, columns = firsts(queries, how), firsts(keys, how)
    kept = ~queries.special[rows] | how.special, ~keys.special[columns] | how.special
    cut = whole[:, kept[0]][:, :, kept[1]].astype(np.float64)
    return Units(cut, keys.special[columns][kept[1]])


def firsts(side: Side, how: How) -> Points:
    """The first token of each word, or every token."""
    if how.unit == "token":
        return np.arange(len(side.text))
    return to_words(np.zeros((len(side.text), 1)), side.word, np.zeros(1, np.int32))[1]


def states_of(reading: Reading, layer: Layer, how: How) -> NDArray[np.float32]:
    """Hidden states (point, feature) after a layer; of a word the mean over its tokens."""
    side = reading.side(layer.kind, True)
    first = firsts(side, how)
    sizes = np.diff([*first, len(side.text)])
    means = np.add.reduceat(reading.hidden[layer.index].astype(np.float64), first, 0) / sizes[:, None]
    kept: NDArray[np.float32] = means[~side.special[first] | how.special].astype(np.float32)
    return kept


def maximum(maps: NDArray[np.float64]) -> bytes:
    """Of maps (head, query, key) the largest attention each key gets (head, key), then the query that gives it."""
    if not maps.size:
        return b""
    whose: encoding.Words = maps.argmax(1).astype("<u2")
    return encoding.attention(maps.max(1)).tobytes() + whose.tobytes()


# what is told of layouts


def _states(vectors: NDArray[np.float32], layer: Layer, how: How) -> Standard:
    """By the same kernel and as many restarts as the heads, so that KL can be compared."""
    return standard(vectors, restarts=how.restarts, seed=(how.seed, layer.index), optimizer="kernel")


def _beside(layout: Place, layer: Layer, found: Layouts) -> Place:
    """Hidden states, turned towards the mean shape of the layer's heads."""
    own = [one for (number, _), one in found.layouts.items() if number == layer.index and np.isfinite(one).all()]
    centred: Place = layout - layout.mean(0)
    if not own or len(own[0]) != len(layout):
        return centred
    mean = np.mean([one / max(float(np.linalg.norm(one)), 1e-12) for one in own], 0)
    towards: Place = (centred @ rotation(centred, mean)).astype(np.float32)
    return towards


def _head_layout(found: Layouts, units: Units, layer: Layer, head: int) -> HeadLayout:
    one, cross, own = (layer.index, head), layer.kind == "cross", units.maps[head]
    steps = np.zeros(1) if cross or not own.size else chains(own, units.special)
    return HeadLayout(
        layer=layer.index, head=head, kl=_known(found.kl[one]), mass=found.mass[one],
        activity=head_activity(own, units.special, cross) if own.size else 0.0,
        chain=int(steps.max()), chain_mean=float(steps.mean()), notes=list(found.notes[one]),
        frame=_frame(found.layouts[one]),
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
    return encoding.frame(known.min(0), known.max(0))


def _positions(places: list[Place]) -> bytes:
    return b"".join(encoding.positions(one).tobytes() for one in places)
