"""What the server sends: the shape of every JSON answer. The page's TypeScript types are made from these.

Numbers that are unknown are null, never NaN. Buffers (`.bin`) are little-endian; see `Encoding`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Payload(BaseModel):
    """Every answer: fields are exactly these."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Level = Literal["map", "head", "example"]
Kind = Literal["category", "number"]
Encoding = Literal["label", "amount", "code", "position", "attention"]
"""How u16 values of a buffer are read.

label      a cluster: 65535 noise, 65534 no such map
amount     low + (high - low) * value / 65534; 65535 unknown
code       a category of the column's list; 65535 none
position   pairs x, y: the plane from 0 to 65534; 65535 no such map
attention  (value / 65535) ** 2
"""


class Fault(Payload):
    """What went wrong and what to do next."""

    status: int
    message: str
    next: str = ""


class Failure(Payload):
    """The one shape of errors."""

    error: Fault


class LayerCard(Payload):
    """A layer of the model."""

    index: int
    kind: Literal["encoder", "decoder", "cross"]
    heads: int
    key_heads: int
    causal: bool


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
    """Something maps can be coloured by: a buffer with a value for each map, or for each example."""

    name: str
    label: str
    group: Literal["clusters", "statistics", "projection", "examples"]
    level: Literal["map", "example"]
    kind: Kind
    encoding: Literal["label", "amount", "code"]
    path: str
    low: float | None
    high: float | None
    unit: str
    categories: list[str]


class Frame(Payload):
    """What positions of a buffer stand for: a point's own coordinate is middle + (value - 32767) * step."""

    x: float
    y: float
    step: float


class ProjectionCard(Payload):
    """All maps as points of the plane."""

    name: str
    method: str
    trustworthiness: float | None
    continuity: float | None
    axes: list[str]
    frame: Frame
    path: str
    trust: str | None


class ClusteringCard(Payload):
    """A clustering; `correlated` ones have names, evidence and homes."""

    name: str
    method: str
    level: str
    clusters: int
    noise: float
    stability: float | None
    correlated: bool


class AtlasCard(Payload):
    """What is there: the first thing a page asks for."""

    name: str
    version: str
    format: int
    static: bool
    live: bool
    live_note: str
    full_examples: list[int]
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
    """All heads that exist, in order of layer and head. `maps` is a buffer (layer, head, r, r) of mean maps."""

    examples: int
    heads: list[HeadRow]
    maps: str


class Examples(Payload):
    """All examples, column by column: `excerpt` is the beginning of the text; `columns` the dataset's own."""

    id: list[str]
    excerpt: list[str]
    n_tokens: list[int]
    n_target: list[int]
    window: list[int]
    windows: list[int]
    columns: dict[str, list[str | float | None]]


class Texts(Payload):
    """The full text of every example, for searching."""

    text: list[str]


class Token(Payload):
    """A token: its text, its word (-1 none), whether it is special, and the text it belongs to (0 or 1)."""

    text: str
    word: int
    special: bool
    segment: int


class Example(Payload):
    """An example: `tokens` is the input, `target` what a decoder beside an encoder reads.

    `pooled` is a buffer (layer, head, r, r). Full maps are at `full` with LAYER and HEAD filled in, (query, key); null
    where they cannot be had, `note` says why. Head t-SNE is at `tsne`, where it can be had. `image` is a picture.
    """

    example: int
    id: str
    text: str
    pair: str | None
    window: int
    windows: int
    cut: int
    columns: dict[str, str | float | None]
    tokens: list[Token]
    target: list[Token]
    image: str | None
    pooled: str | None
    full: str | None
    tsne: str | None
    note: str


class Attempt(Payload):
    """A sentence of one's own."""

    text: str
    pair: str | None = None
