"""One task: collect a block of examples and write it as a whole."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from headatlas import models, parallel
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded
from headatlas.models.model import Kind, Modality, Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.collect.layout import Layout, image_layout, text_layout
from headatlas.stages.collect.plan import Options, Plan
from headatlas.stages.collect.reduce import MakeLayout, Reduce
from headatlas.stages.collect.sampled import SampledVectors
from headatlas.stages.collect.stat_axis import Statistics, statistics_of


@dataclass(frozen=True)
class CollectJob:
    """Everything a worker needs; a model that exists only in this process is not sent to others."""

    place: Place
    options: Options
    plan: Plan
    modality: Modality
    hash: str
    source: str | None
    model: Model | None = None

    def load(self) -> Model:
        """The model, loaded once in each process."""
        if self.model is not None:
            return self.model
        assert self.source is not None  # a job has a model or a source
        with _loading:
            model = _load(self.source, self.modality)
        if model.hash != self.hash:
            raise ModelError(
                f"{model.name} has other weights on this worker than those that the collection was started with"
            )
        return model


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _load(source: str, modality: Modality) -> Model:
    return models.load(source, modality=modality)


@dataclass(frozen=True)
class CollectBlock:
    """The function that is run on the number of each block; returns the number of examples done."""

    job: CollectJob

    @single_thread()
    def __call__(self, number: int) -> int:
        """Collect one block."""
        return collect_block(Writer(self.job.place), self.job.load(), self.job, number)


def collect_block(writer: Writer, model: Model, job: CollectJob, number: int) -> int:
    """Collect maps, statistics and sampled vectors of one block of examples; returns the number of examples."""
    atlas = writer.atlas
    statistics = statistics_of(model)
    examples = job.plan.examples(number)
    r = job.options.resolution
    shape = (len(examples), len(model.layers), model.heads)
    pooled = np.empty((*shape, r, r), np.float16)
    stats = np.empty((*shape, len(statistics.names)), np.float32)
    sampled = SampledVectors(model, atlas.table("sampled").to_pydict(), examples, job.plan.row_block)
    for numbers, batch, encoded in _batches(atlas, model, job, examples):
        watcher = Reduce(model, batch, statistics, r, _layouts(model, statistics, r, encoded))
        watcher.keep = partial(sampled.add, numbers, batch)
        capture.run(model, batch.inputs, watcher)
        rows = [example - examples.start for example in numbers]
        pooled[rows], stats[rows] = watcher.pooled, watcher.stats
        _release_memory()
    files = writer.write_blocks("pooled", examples.start, pooled)
    files += writer.write_blocks("pooled_mean", number, pooled.mean(0, dtype=np.float32, keepdims=True))
    files += writer.write_blocks("stats", examples.start, stats)
    writer.write_manifest(block_name(number), files + sampled.write(writer))
    return len(examples)


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


def _batches(
    atlas: Atlas, model: Model, job: CollectJob, numbers: Sequence[int]
) -> Iterator[tuple[list[int], Batch, list[Encoded]]]:
    """Batches of examples of similar length, each within the token budget, padding included."""
    if model.grid is not None:
        tokens = len(model.grid.special) + model.grid.rows * model.grid.columns
        paths = read_image_paths(atlas, numbers)
        size = max(1, job.options.batch_tokens // tokens)
        for start in range(0, len(numbers), size):
            parallel.check()
            yield list(numbers[start : start + size]), image_batch(model, paths[start : start + size]), []
        return
    encoded = read_tokens(atlas, numbers)
    lengths = [(len(example.source), len(example.target) if example.target else 0) for example in encoded]
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (sum(lengths[place]), lengths[place])):
        full = sum(lengths[place]) * (len(batch) + 1) > job.options.batch_tokens
        if batch and (full or (not model.padding and lengths[place] != lengths[batch[0]])):
            yield _text_batch(model, numbers, encoded, batch)
            batch = []
        batch.append(place)
    yield _text_batch(model, numbers, encoded, batch)


def _text_batch(
    model: Model, numbers: Sequence[int], encoded: list[Encoded], places: list[int]
) -> tuple[list[int], Batch, list[Encoded]]:
    parallel.check()
    chosen = [encoded[place] for place in places]
    return [numbers[place] for place in places], text_batch(model, chosen), chosen
