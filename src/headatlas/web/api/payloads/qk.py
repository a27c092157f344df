"""Payloads of queries and keys in one space. A point is a query or a key of a token: queries first, then keys."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.encoding import Encoding
from headatlas.web.api.payloads.base import Payload

MapKind = Literal["embedding", "attention"]


class PointColumn(Payload):
    """Something tokens can be colored by: a value per token. `definition` says what it holds."""

    name: str
    label: str
    definition: str
    kind: Literal["category", "number"]
    encoding: Encoding
    low: float | None
    high: float | None
    unit: str
    categories: list[str]


class EmbeddedHead(Payload):
    """A head, and how far its plot can be trusted.

    `spearman` is the rank correlation of distances with products of queries and keys over all pairs, −1 a perfect
    mirror; `correlation` the same, near pairs weighted most. `trust` and `continuity` are means over points, `kept` is
    the mean share of true neighbors that are neighbors on the plot, and `misplaced` the share of points with too
    little trust. `note` says why distances cannot mirror its attention; it is empty if they can.
    """

    layer: int
    head: int
    scale: float | None
    translation_norm: float | None
    correlation: float | None
    spearman: float | None
    spearman_unscaled: float | None
    spearman_closed_form: float | None
    trust: float | None
    continuity: float | None
    kept: float | None
    misplaced: float | None
    kl: float | None
    note: str


class HeadPlace(Payload):
    """Where a head lies among all heads, by what its plot looks like or by its mean map."""

    kind: MapKind
    layer: int
    head: int
    x: float
    y: float


class RelatedHead(Payload):
    """A head that is near to another on a map of heads; `rank` counts from 0."""

    kind: MapKind
    layer: int
    head: int
    rank: int
    other_layer: int
    other_head: int
    distance: float


class Embedding(Payload):
    """Queries and keys of every head, drawn by one method.

    `neighbors` is the number of neighbors that `kept` and `trust` are about. Norms are encoded from `norm_low` to
    `norm_high`, those of all heads alike.
    """

    name: str
    method: str
    dims: int
    tokens: int
    examples: int
    neighbors: int
    norm_low: float | None
    norm_high: float | None
    columns: list[PointColumn]
    heads: list[EmbeddedHead]
    map: list[HeadPlace]
    related: list[RelatedHead]


class EmbeddedTokens(Payload):
    """The tokens that are drawn: example, position in its sequence, and the number of its text in `texts`.

    `target` lists the tokens of a target. `sample` lists those whose points come first: every buffer without a layer in
    its address holds only these.
    """

    example: list[int]
    position: list[int]
    text: list[int]
    texts: list[str]
    special: list[int]
    target: list[int]
    sample: list[int]


class Grouping(Payload):
    """How much more alike near points are in a column than points at random: 1 equal, 0 as at random."""

    column: str
    label: str
    strength: float


class Honesty(Payload):
    """How far distances mirror products in a head, and what its points are grouped by.

    `counts` has the pairs in each of `steps` × `steps` cells, product by product for each distance, between the ends of
    both. It is empty where a head has no points.
    """

    layer: int
    head: int
    pairs: int
    steps: int
    distance: tuple[float, float] | None
    product: tuple[float, float] | None
    counts: list[int]
    groupings: list[Grouping]


class NearPoint(Payload):
    """A point, and its distance from the point that was asked for."""

    point: int
    distance: float


class NearPoints(Payload):
    """The points nearest to a point by their vectors, and the median distance of all points, to judge by."""

    layer: int
    head: int
    point: int
    median: float
    points: list[NearPoint]
