"""One task: the clusters of some examples' maps, of the model itself or of a null model."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import models
from headatlas.atlas import parts
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_image_paths, read_tokens
from headatlas.atlas.writer import Place, Writer
from headatlas.models.groups import image_groups, text_groups
from headatlas.models.model import Model
from headatlas.models.shuffle import shuffled
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.membership import Assigned, Clusters
from headatlas.stages.collect.batches import reduce_groups
from headatlas.stages.collect.stat_axis import atlas_statistics
from headatlas.stages.features.block import encode
from headatlas.stages.features.encoders import Encoder
from headatlas.wording.nulls import REAL

LABELS = pa.list_(pa.int32())  # of all heads
PART = pa.schema(
    [("kind", pa.string()), ("example", pa.int64()), ("labels", LABELS), ("patterns", LABELS), ("leaves", LABELS)]
)


OTHER_WEIGHTS = {"untrained": models.untrained, "permuted": models.permuted}  # kinds that need another network


@dataclass(frozen=True)
class Task:
    """A kind of maps, and the numbers of the examples to make them of."""

    kind: str
    examples: list[int]


@dataclass
class NullModels:
    """The model, and the same with other weights, which is made at first use.

    Only the latest is kept: tasks come kind by kind, and each model may take gigabytes.
    """

    model: Model
    seed: int
    _latest: tuple[str, Model] | None = None
    _making: threading.Lock = field(default_factory=threading.Lock)

    def of(self, kind: str) -> Model:
        """The model that computes maps of this kind."""
        if kind not in OTHER_WEIGHTS:
            return self.model
        with self._making:
            if self._latest is None or self._latest[0] != kind:
                self._latest = None
                self._latest = (kind, OTHER_WEIGHTS[kind](self.model, self.seed))
            return self._latest[1]


@dataclass(frozen=True)
class Source:
    """What the maps are made with: the clustering `of`, the features it was made from, and their encoder."""

    of: str
    features: str
    clusters: Clusters
    encoder: Encoder
    batch: int  # maps encoded at a time
    models: NullModels


@dataclass(frozen=True)
class NullBlock:
    """The function that is run on the number of each task; returns the number of examples done."""

    place: Place
    tasks: list[Task]
    source: Source
    heads: NDArray[np.int64]  # layer and head of each head that exists

    @single_thread("torch")
    def __call__(self, number: int) -> int:
        """Make one part: for each example the labels of all heads, by the rule of the clustering and by distance."""
        task, writer = self.tasks[number], Writer(self.place)
        assigned = cluster_labels(writer.atlas, self.source, task)
        layer, head = self.heads.T
        columns = {"kind": [task.kind] * len(task.examples), "example": task.examples} | {
            name: [None] * len(task.examples) if values is None else values[:, layer, head].tolist()
            for name, values in vars(assigned).items()
        }
        parts.write_part(writer, number, pa.table(columns, schema=PART))
        return len(task.examples)


def cluster_labels(atlas: Atlas, source: Source, task: Task) -> Assigned:
    """The clusters of the maps of a task; labels of the model itself are those that are stored."""
    if task.kind != REAL:
        return source.clusters.assign(_vectors(atlas, source, task))
    rows = np.array(task.examples)
    labels = np.concatenate([atlas.read("labels", slice(row, row + 1), source.of) for row in rows])
    vectors = [atlas.read("features", slice(row, row + 1), source.features) for row in rows]
    return replace(source.clusters.assign(np.concatenate(vectors)), labels=labels)


def _vectors(atlas: Atlas, source: Source, task: Task) -> NDArray[np.float16]:
    """Vectors (example, layer, head, feature) of the maps of a null model, made like those of the atlas."""
    pooled, stats = null_maps(atlas, source.models, task)
    return encode(source.encoder, pooled, stats, source.batch)


def null_maps(atlas: Atlas, null_models: NullModels, task: Task) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Pooled maps and statistics of a null model, collected like those of the atlas."""
    model = null_models.of(task.kind)
    most_tokens, resolution = atlas.options["batch_tokens"], atlas.options["resolution"]
    if model.grid is not None:
        groups = image_groups(model, read_image_paths(atlas, task.examples), most_tokens)
    else:
        encoded = read_tokens(atlas, task.examples)
        if task.kind == "shuffled":
            pairs = zip(encoded, task.examples, strict=True)
            encoded = [shuffled(example, null_models.seed, number) for example, number in pairs]
        groups = text_groups(model, encoded, most_tokens)
    return reduce_groups(model, groups, len(task.examples), resolution, atlas_statistics(model, atlas))
