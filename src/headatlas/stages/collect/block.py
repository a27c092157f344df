"""One piece of work: a block of examples, computed anywhere and written as a whole."""

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
from headatlas.stages.collect.reduce import Lay, Reduce
from headatlas.stages.collect.sampled import Keeper
from headatlas.stages.collect.stat_axis import Statistics, statistics_of


@dataclass(frozen=True)
class Job:
    """Everything a worker needs; a model that lives in this process only cannot travel to others."""

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
        assert self.source is not None  # a job without either is never made
        with _loading:
            model = _load(self.source, self.modality)
        if model.hash != self.hash:
            raise ModelError(f"{model.name} has other weights on this worker than where the collection was begun")
        return model


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _load(source: str, modality: Modality) -> Model:
    return models.load(source, modality=modality)


@dataclass(frozen=True)
class CollectBlock:
    """The function that is run over the numbers of all blocks; gives the number of examples done."""

    job: Job

    @single_thread()
    def __call__(self, number: int) -> int:
        """Do one block."""
        return collect_block(Writer(self.job.place), self.job.load(), self.job, number)


def collect_block(writer: Writer, model: Model, job: Job, number: int) -> int:
    """Collect maps, statistics and sampled vectors of one block of examples; gives the number of examples."""
    atlas = writer.atlas
    statistics = statistics_of(model)
    examples = job.plan.examples(number)
    r = job.options.resolution
    shape = (len(examples), len(model.layers), model.heads)
    pooled = np.empty((*shape, r, r), np.float16)
    stats = np.empty((*shape, len(statistics.names)), np.float32)
    keeper = Keeper(model, atlas.table("sampled").to_pydict(), examples, job.plan.row_block)
    for numbers, batch, encoded in _batches(atlas, model, job, examples):
        watcher = Reduce(model, batch, statistics, r, _layouts(model, statistics, r, encoded))
        watcher.keep = partial(keeper.take, numbers, batch)
        capture.run(model, batch.inputs, watcher)
        places = [one - examples.start for one in numbers]
        pooled[places], stats[places] = watcher.pooled, watcher.stats
        _release_memory()
    files = writer.write_blocks("pooled", examples.start, pooled)
    files += writer.write_blocks("pooled_mean", number, pooled.mean(0, dtype=np.float32, keepdims=True))
    files += writer.write_blocks("stats", examples.start, stats)
    writer.write_manifest(block_name(number), files + keeper.write(writer))
    return len(examples)


def _release_memory() -> None:
    """Hand freed memory back: batches have many shapes, and the C library would keep what is left of each."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _layouts(model: Model, statistics: Statistics, r: int, encoded: Sequence[Encoded]) -> Lay:
    """How the tokens of each example of a batch lie, for each kind of layer."""

    def lay(e: int, kind: Kind, causal: bool) -> Layout:
        if model.grid is not None:
            return image_layout(model.grid, r)
        source, target = encoded[e].source, encoded[e].target or encoded[e].source
        queries = source if kind == "encoder" else target
        keys = target if kind == "decoder" else source
        return text_layout(queries, keys, statistics.specials, statistics.separator, r, causal)

    return lay


def _batches(
    atlas: Atlas, model: Model, job: Job, numbers: Sequence[int]
) -> Iterator[tuple[list[int], Batch, list[Encoded]]]:
    """Examples of similar length together, each batch within the budget of tokens, padding counted."""
    if model.grid is not None:
        tokens = len(model.grid.special) + model.grid.rows * model.grid.columns
        paths = read_image_paths(atlas, numbers)
        size = max(1, job.options.batch_tokens // tokens)
        for start in range(0, len(numbers), size):
            parallel.check()
            yield list(numbers[start : start + size]), image_batch(model, paths[start : start + size]), []
        return
    encoded = read_tokens(atlas, numbers)
    lengths = [(len(one.source), len(one.target) if one.target else 0) for one in encoded]
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
    own = [encoded[place] for place in places]
    return [numbers[place] for place in places], text_batch(model, own), own
