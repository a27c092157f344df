"""One task: collect a block of examples and write it as a whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from headatlas import models
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.errors import ModelError
from headatlas.models.groups import Group, image_groups, text_groups
from headatlas.models.model import Modality, Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.collect.batches import reduce_groups
from headatlas.stages.collect.options import Options
from headatlas.stages.collect.plan import Plan
from headatlas.stages.collect.reduce import Keep
from headatlas.stages.collect.sampled import SampledVectors
from headatlas.stages.collect.stat_axis import statistics_of


class BlockObserver(Protocol):
    """Sees what the network returns for the batches of one block."""

    def see(self, group: Group, output: Any) -> None:
        """Handle one forward pass; `group.places` are places within the block."""

    def write(self) -> None:
        """Write what was made of the block. The block counts as collected only after this."""


class Observer(Protocol):
    """Uses the forward passes of a collection for something else, too. It is sent to workers."""

    def begin(self, atlas: Atlas, model: Model, number: int, examples: range) -> BlockObserver:
        """The observer of one block, with a handle that can read the tables of the collection."""


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
    observer: Observer | None = None

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
    atlas, examples = writer.atlas, job.plan.examples(number)
    sampled = SampledVectors(model, atlas.table("sampled").to_pydict(), examples, job.plan.row_block)

    def keep(group: Group) -> Keep:
        return partial(sampled.add, [examples[place] for place in group.places], group.batch)

    observed = None if job.observer is None else job.observer.begin(atlas, model, number, examples)
    groups = block_groups(atlas, model, examples, job.options.batch_tokens)
    see = None if observed is None else observed.see
    statistics = statistics_of(model, job.plan.spans, job.options.norms)
    pooled, stats = reduce_groups(model, groups, len(examples), job.options.resolution, statistics, keep, see)
    files = writer.write_blocks("pooled", examples.start, pooled)
    files += writer.write_blocks("pooled_mean", number, pooled.mean(0, dtype=np.float32, keepdims=True))
    files += writer.write_blocks("stats", examples.start, stats)
    if observed is not None:
        observed.write()
    writer.write_manifest(block_name(number), files + sampled.write(writer))
    return len(examples)


def block_groups(atlas: Atlas, model: Model, examples: range, most_tokens: int) -> Iterator[Group]:
    """The batches of a block of examples."""
    if model.grid is not None:
        return image_groups(model, read_image_paths(atlas, examples), most_tokens)
    return text_groups(model, read_tokens(atlas, examples), most_tokens)
