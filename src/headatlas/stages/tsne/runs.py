"""Repeated layouts of examples, as rows of the table `layout_runs`; the blocks of both experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas import parts
from headatlas.atlas.writer import Place, Writer
from headatlas.models.encode import Encoded
from headatlas.models.model import Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.activity import head_activity
from headatlas.stages.tsne.affinity import Empty
from headatlas.stages.tsne.choice import Wanted, choose
from headatlas.stages.tsne.heads import head_affinity
from headatlas.stages.tsne.lanes import WIDTH
from headatlas.stages.tsne.layout_tables import STANDARD, Head
from headatlas.stages.tsne.reading import Reading, read_encoded, with_tokens
from headatlas.stages.tsne.standard import Optimizer, standard

TOGETHER = 20  # disturbed texts in a block

LAYOUT_RUNS = pa.schema(
    [
        ("example", pa.int64()), ("id", pa.string()), ("tokens", pa.int32()), ("layer", pa.int32()),
        ("head", pa.int32()), ("run", pa.int32()), ("kl", pa.float64()), ("disturbed", pa.bool_()),
        ("repeat", pa.int32()),
    ]
)  # fmt: skip

Kl = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """An example of an atlas in an experiment. Random seeds depend on its position in the list that was given."""

    position: int
    example: int
    id: str
    encoded: Encoded


@dataclass(frozen=True)
class Fit:
    """How a layout is made, and which heads are laid out."""

    model: Model
    heads: Wanted  # "active": the head of highest activity of each layer
    seed: int
    perplexity: float
    special: bool
    optimizer: Optimizer

    def read(self, subject: Subject) -> Reading:
        """An example, from the tokens that were collected."""
        return read_encoded(self.model, subject.encoded)

    def chosen(self, reading: Reading) -> list[Head]:
        """The heads, and standard t-SNE of each of their layers that has hidden states."""
        heads = active_heads(reading) if self.heads == "active" else choose(self.model, self.heads)
        layers = sorted({layer for layer, _ in heads} & set(reading.hidden))
        return heads + [(layer, STANDARD) for layer in layers]

    def kl(self, reading: Reading, head: Head, runs: int, seed: tuple[int, ...]) -> Kl:
        """KL of this many runs; NaN where a head gives nothing to lay out."""
        layer = self.model.layers[head[0]]
        if head[1] == STANDARD:
            points = ~reading.side(layer.kind, True).special | self.special
            return standard(
                reading.hidden[layer.index][points], perplexity=self.perplexity, restarts=runs, seed=seed,
                optimizer=self.optimizer,
            ).kl  # fmt: skip
        try:
            p = head_affinity(reading, layer, head[1], self.special).p
        except Empty:
            return np.full(runs, np.nan)
        return kernel.layouts(p, restarts=runs, seed=seed)[1]


@dataclass(frozen=True)
class CompareBlock:
    """A block is one example: all runs of all its heads."""

    place: Place
    fit: Fit
    subjects: list[Subject]
    runs: int

    @single_thread()
    def __call__(self, number: int) -> int:
        """Lay out one example, and write its part."""
        parallel.check()
        subject = self.subjects[number]
        reading = self.fit.read(subject)
        rows: list[Row] = []
        for head in self.fit.chosen(reading):
            seed = (self.fit.seed, subject.position, head[0], head[1] + 1)
            rows += _rows(subject, reading, head, self.fit.kl(reading, head, self.runs, seed))
        parts.write_part(Writer(self.place), number, pa.Table.from_pylist(rows, schema=LAYOUT_RUNS))
        return 1


@dataclass(frozen=True)
class RobustnessBlock:
    """A block is a few disturbed copies of one example, and as many layouts of the original."""

    place: Place
    fit: Fit
    subjects: list[Subject]
    share: float
    repeats: list[range]  # in each block of an example

    @single_thread()
    def __call__(self, number: int) -> int:
        """Lay out one block, and write its part."""
        position, group = divmod(number, len(self.repeats))
        subject, repeats = self.subjects[position], self.repeats[group]
        plain = self.fit.read(subject)
        heads = self.fit.chosen(plain)
        rows = self._plain(subject, plain, heads, group)
        for repeat in repeats:
            parallel.check()
            rows += self._disturbed(subject, plain, heads, repeat)
        parts.write_part(Writer(self.place), number, pa.Table.from_pylist(rows, schema=LAYOUT_RUNS))
        return len(repeats)

    def _plain(self, subject: Subject, plain: Reading, heads: list[Head], group: int) -> list[Row]:
        rows, runs = [], len(self.repeats[group]) * WIDTH
        for head in heads:
            seed = (self.fit.seed, subject.position, group, head[0], head[1] + 1, 0)
            rows += _rows(subject, plain, head, self.fit.kl(plain, head, runs, seed))
        return rows

    def _disturbed(self, subject: Subject, plain: Reading, heads: list[Head], repeat: int) -> list[Row]:
        reading = disturbed(plain, self.share, (self.fit.seed, subject.position, repeat))
        rows = []
        for head in heads:
            seed = (self.fit.seed, subject.position, repeat, head[0], head[1] + 1, 1)
            rows += _rows(subject, reading, head, self.fit.kl(reading, head, WIDTH, seed), repeat)
        return rows


def disturbed(reading: Reading, share: float, seed: tuple[int, ...]) -> Reading:
    """The text with a share of its tokens (at least one, no special ones) replaced by tokens drawn from the text."""
    assert reading.encoded is not None  # an image is refused before
    rng = np.random.default_rng(seed)
    ids, plain = reading.encoded.source.ids.copy(), np.flatnonzero(~reading.encoded.source.special)
    places = rng.choice(plain, max(1, round(share * len(plain))), replace=False)
    ids[places] = ids[rng.choice(plain, len(places))]
    return with_tokens(reading, ids)


def active_heads(reading: Reading) -> list[Head]:
    """The head of highest activity of each layer; the first in case of ties."""
    heads = []
    for layer in reading.model.layers:
        special = reading.side(layer.kind, False).special
        values = [head_activity(attention, special, layer.kind == "cross") for attention in reading.maps[layer.index]]
        heads.append((layer.index, int(np.argmax(values))))
    return heads


def _rows(subject: Subject, reading: Reading, head: Head, kl: Kl, repeat: int | None = None) -> list[Row]:
    """One row per run; `repeat` is the number of a disturbed copy."""
    layer = reading.model.layers[head[0]]
    shared = {
        "example": subject.example, "id": subject.id, "tokens": len(reading.side(layer.kind, True).text),
        "layer": head[0], "head": head[1], "disturbed": repeat is not None, "repeat": -1 if repeat is None else repeat,
    }  # fmt: skip
    return [shared | {"run": run, "kl": float(value)} for run, value in enumerate(kl)]
