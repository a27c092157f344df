"""One piece of work: a block of maps, or a block of vectors. Runs anywhere, writes its block whole, gives a receipt."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas import models, parallel
from headatlas.collect.layout import Layout, image_layout, text_layout
from headatlas.collect.plan import Options, Plan
from headatlas.collect.reduce import reduce_batch
from headatlas.collect.statistics import statistics_of
from headatlas.collect.tables import read_examples, read_images
from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.capture import Attended, Call
from headatlas.models.encode import Encoded
from headatlas.models.facts import Kind, Layer, Modality, Model
from headatlas.store import Atlas

MAPS = ("pooled", "pooled_mean", "stats")
VECTORS = ("query", "key", "value_norm")


@dataclass(frozen=True)
class Job:
    """Everything a worker needs; a model that lives in this process only cannot travel to others."""

    path: str
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
class Work:
    """The function that is run over all tasks; gives the kind of work and the number of examples done."""

    job: Job

    def __call__(self, task: tuple[str, int]) -> tuple[str, int]:
        """Do one task."""
        torch.set_num_threads(1)  # the same bits wherever it runs
        model, atlas = self.job.load(), Atlas.open(self.job.path)
        what, number = task
        block = map_block if what == "maps" else vector_block
        return what, block(atlas, model, self.job, number)


def task_name(task: tuple[str, int]) -> str:
    """The name of a task's receipt."""
    return f"{task[0]}-{task[1]:06d}"


def map_block(atlas: Atlas, model: Model, job: Job, number: int) -> int:
    """Pooled maps and statistics of one block of examples."""
    statistics = statistics_of(model)
    examples = job.plan.examples(number)
    r = job.options.resolution
    shape = (len(examples), len(model.layers), model.heads)
    pooled = np.empty((*shape, r, r), np.float16)
    stats = np.empty((*shape, len(statistics.names)), np.float32)
    for numbers, batch, encoded in _batches(atlas, model, job, examples):

        def lay(e: int, kind: Kind, causal: bool, encoded: Sequence[Encoded] = encoded) -> Layout:
            if model.grid is not None:
                return image_layout(model.grid, r)
            source, target = encoded[e].source, encoded[e].target or encoded[e].source
            queries = source if kind == "encoder" else target
            keys = target if kind == "decoder" else source
            return text_layout(queries, keys, statistics.specials, statistics.separator, r, causal)

        places = [one - examples.start for one in numbers]
        pooled[places], stats[places] = reduce_batch(model, batch, statistics, r, lay)
    atlas.write_block("pooled", number, pooled)
    atlas.write_block("pooled_mean", number, pooled.mean(0, dtype=np.float32, keepdims=True))
    atlas.write_block("stats", number, stats)
    atlas.write_receipt("collect", task_name(("maps", number)), [atlas.block_file(name, number) for name in MAPS])
    return len(examples)


def vector_block(atlas: Atlas, model: Model, job: Job, number: int) -> int:
    """Queries, keys and lengths of values for one block of the sampled tokens."""
    size = job.plan.vector_block
    start, stop = number * size, min((number + 1) * size, job.plan.sampled)
    table = atlas.table("sampled").to_pydict()
    rows = zip(table["example"], table["offset"], table["tokens"], strict=True)
    offsets = {example: offset for example, offset, tokens in rows if offset < stop and offset + tokens > start}
    layers, width = len(model.layers), model.width
    query = np.full((stop - start, layers, model.heads, width), np.nan, np.float16)
    key = np.full((stop - start, layers, model.key_heads, width), np.nan, np.float16)
    norm = np.full((stop - start, layers, model.key_heads), np.nan, np.float32)
    for numbers, batch, _ in _batches(atlas, model, job, sorted(offsets)):
        record = _Vectors()
        capture.run(model, batch.inputs, record)
        for layer, q, k, v in record.found:
            for e, example in enumerate(numbers):
                n, m = batch.extent(e, layer.kind)
                q_at, k_at = _rows(batch, e, layer.kind, offsets[example] - start)
                _put(query[:, layer.index, : layer.heads, : layer.width], q_at, q[e, :, :n])
                _put(key[:, layer.index, : layer.key_heads, : layer.width], k_at, k[e, :, :m])
                _put(norm[:, layer.index, : layer.key_heads], k_at, v[e, :, :m].norm(dim=-1))
    blocks: tuple[NDArray[Any], ...] = (query, key, norm)
    for name, values in zip(VECTORS, blocks, strict=True):
        atlas.write_block(name, number, values)
    atlas.write_receipt("collect", task_name(("vectors", number)), [atlas.block_file(name, number) for name in VECTORS])
    return len(offsets)


def _rows(batch: Batch, e: int, kind: Kind, offset: int) -> tuple[int, int]:
    """Where an example's queries and keys begin: its target's tokens lie behind its source's."""
    behind = offset + batch.lengths[e] if batch.target_lengths else offset
    return (offset if kind == "encoder" else behind), (behind if kind == "decoder" else offset)


def _put(into: NDArray[Any], at: int, values: Tensor) -> None:
    """Write (head, token, …) at rows `at` …, leaving out what lies outside the block."""
    first, last = max(at, 0), min(at + values.shape[1], len(into))
    if first < last:
        into[first:last] = values[:, first - at : last - at].transpose(0, 1).numpy()


class _Vectors:
    """The watcher that keeps vectors and attends as fast as it can."""

    def __init__(self) -> None:
        self.found: list[tuple[Layer, Tensor, Tensor, Tensor]] = []

    def call(self, layer: Layer, call: Call) -> Attended:
        self.vectors(layer, call.query, call.key, call.value)
        if not layer.standard:
            return call.eager()
        output = torch.nn.functional.scaled_dot_product_attention(
            call.query,
            call.key,
            call.value,
            attn_mask=call.mask,
            scale=call.scaling,
            enable_gqa=call.query.shape[1] != call.key.shape[1],
        )
        return output.transpose(1, 2).contiguous(), None

    def map(self, layer: Layer, weights: Tensor) -> None:
        pass

    def vectors(self, layer: Layer, query: Tensor, key: Tensor, value: Tensor) -> None:
        self.found.append((layer, query, key, value))


def _batches(
    atlas: Atlas, model: Model, job: Job, numbers: Sequence[int]
) -> Iterator[tuple[list[int], Batch, list[Encoded]]]:
    """Examples of similar length together, each batch within the budget of tokens, padding counted."""
    if model.grid is not None:
        tokens = len(model.grid.special) + model.grid.rows * model.grid.columns
        paths = read_images(atlas, numbers)
        size = max(1, job.options.batch_tokens // tokens)
        for start in range(0, len(numbers), size):
            parallel.check()
            yield list(numbers[start : start + size]), image_batch(model, paths[start : start + size]), []
        return
    encoded = read_examples(atlas, numbers)
    lengths = [(len(one.source) + (len(one.target) if one.target else 0)) for one in encoded]
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if batch and lengths[place] * (len(batch) + 1) > job.options.batch_tokens:
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
