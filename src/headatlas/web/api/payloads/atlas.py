"""Payloads of the whole atlas: model, dataset, stages, columns that maps can be colored by, and heads."""

from __future__ import annotations

from typing import Any, Literal

from headatlas.web.api.encoding import Encoding
from headatlas.web.api.payloads.base import Payload, PositionScale


class LayerCard(Payload):
    """A layer of the model.

    Its scores are `scaling` · query · key, in `width` dimensions; if they are something else, `note` says why.
    """

    index: int
    kind: Literal["encoder", "decoder", "cross"]
    heads: int
    key_heads: int
    causal: bool
    width: int
    scaling: float
    note: str


class GridCard(Payload):
    """How the tokens of an image lie: special tokens, then rows × columns of patches."""

    special: list[str]
    rows: int
    columns: int


class ModelCard(Payload):
    """The model."""

    name: str
    family: str
    modality: Literal["text", "image"]
    revision: str | None
    hash: str
    layers: list[LayerCard]
    heads: int
    key_heads: int
    width: int | None
    max_tokens: int | None
    grid: GridCard | None
    notes: list[str]


class DataCard(Payload):
    """The dataset."""

    name: str
    modality: Literal["text", "image"]
    examples: int
    tokens: int
    windowed: int
    windows: int
    cut: int
    skipped: int


class ResultCard(Payload):
    """A finished result of a stage."""

    name: str
    line: str
    source: str | None
    options: dict[str, Any]
    version: str


class StageCard(Payload):
    """A stage: done or not, and the command that runs it."""

    stage: str
    done: bool
    command: str
    results: list[ResultCard]


class StatisticCard(Payload):
    """A statistic of maps, in plain words."""

    name: str
    plain: str
    unit: str


class ColumnCard(Payload):
    """Something maps can be colored by: a value per map or per example. `slug` is its name in addresses."""

    name: str
    slug: str
    label: str
    group: Literal["clusters", "statistics", "projection", "examples"]
    level: Literal["map", "example"]
    kind: Literal["category", "number"]
    encoding: Encoding
    low: float | None
    high: float | None
    unit: str
    categories: list[str]


class ProjectionCard(Payload):
    """All maps as points in the plane."""

    name: str
    method: str
    trustworthiness: float | None
    continuity: float | None
    axes: list[str]
    scale: PositionScale


class ClusteringCard(Payload):
    """A clustering; `correlated` ones have names, evidence and homes. `key` identifies its recipe.

    One that was made from a tree can be shown at other levels, from 1 pattern to `finest`; null: it has one level.
    """

    name: str
    key: str
    method: str
    level: str
    clusters: int
    noise: float
    stability: float | None
    correlated: bool
    finest: int | None


class AtlasCard(Payload):
    """Everything the atlas holds: the first thing a page asks for.

    `static` is true for an exported page, `live` if full maps can be computed; if not, `live_note` says why. An
    exported page holds full maps of `full_examples` and pooled maps of `pooled_examples`, or of all if that is null.
    """

    name: str
    version: str
    format: int
    static: bool
    live: bool
    live_note: str
    full_examples: list[int]
    pooled_examples: list[int] | None
    resolution: int
    model: ModelCard
    data: DataCard
    stages: list[StageCard]
    statistics: list[StatisticCard]
    columns: list[ColumnCard]
    projections: list[ProjectionCard]
    clusterings: list[ClusteringCard]


class HeadRow(Payload):
    """A head: mean and standard deviation over examples of each statistic, in the order of `AtlasCard.statistics`."""

    layer: int
    head: int
    kind: str
    mean: list[float | None]
    deviation: list[float | None]


class Heads(Payload):
    """All heads that exist, in order of layer and head."""

    examples: int
    heads: list[HeadRow]
