"""Payloads of what heads look at and write."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from headatlas.web.api.payloads.base import Payload

Panel = Literal["measures", "roles", "rows", "relations", "distances"]
Grid = list[list[float | None]]  # (layer, head); null: unknown, or no such head
Cell = str | float | int | bool | None


class PanelCard(Payload):
    """A table of an analysis, and how the page shows it."""

    table: str
    about: str
    panel: Panel


class AnalysisCard(Payload):
    """An analysis with its findings in sentences, or what it lacks and the command that runs it.

    `examples` is null if it was not run; then `missing` says what the data lack, if they do.
    """

    name: str
    question: str
    examples: int | None
    missing: str | None
    command: str
    findings: list[str]
    panels: list[PanelCard]


class SearchNames(Payload):
    """What a search over heads can ask for: the values of each column of the treebank, none without one."""

    kinds: list[str]
    positions: list[str]
    columns: dict[str, list[str]]


class Probe(Payload):
    """All analyses, and what a search can ask for where the page can run the model; null for images."""

    analyses: list[AnalysisCard]
    command: str  # that runs every analysis that the data allow
    search: SearchNames | None


class HeadAnalysis(Payload):
    """What an analysis says about one head, or the command that runs it."""

    name: str
    question: str
    sentences: list[str]
    done: bool
    missing: str | None
    command: str


class LeadingSentence(Payload):
    """A sentence about a head, with one of the largest effects that are not chance."""

    analysis: str
    sentence: str


class HeadProbe(Payload):
    """Everything that analyses say about a head; what tells most first."""

    layer: int
    head: int
    leading: list[LeadingSentence]
    command: str  # that runs every analysis that the data allow
    analyses: list[HeadAnalysis]


class MeasureCard(Payload):
    """A measure of every head: means over texts with intervals (layer, head); null: unknown, or no such head."""

    name: str
    label: str
    definition: str
    unit: str
    share: bool
    mean: list[list[float | None]]
    low: list[list[float | None]]
    high: list[list[float | None]]
    texts: int


class Measures(Payload):
    """The measures of an analysis."""

    table: str
    measures: list[MeasureCard]


class RoleCard(Payload):
    """A role of heads, on what was read or rested on: numbers of every head (layer, head)."""

    key: str  # in the URL
    title: str
    keys: str  # what heads with the role attend to
    on: str  # what was read, or rested on; empty if that needs no word
    texts: int  # the most of all heads
    having: int  # heads that have the role; those that are marked are among them
    value: Grid
    low: Grid
    high: Grid
    reference: Grid  # what the value is compared with
    effect: Grid  # above it: what heads are colored by
    q: Grid
    marked: list[list[bool]]


class Roles(Payload):
    """All roles of a table of heads; a head has one from this effect and this false discovery rate on."""

    table: str
    least_effect: float
    false_rate: float
    roles: list[RoleCard]


class TableColumn(Payload):
    """A column of a table."""

    name: str
    numeric: bool


class TableRows(Payload):
    """The first rows of a table of an analysis, and how many there are."""

    table: str
    columns: list[TableColumn]
    rows: list[list[Cell]]
    total: int
    command: str  # that prints all of them


class Relation(Payload):
    """A relation of a treebank with its best head and the best fixed offset, see `probe_relations`."""

    relation: str
    found: str  # what the head finds, in words
    cases: int
    layer: int
    head: int
    direction: Literal["up", "down"]
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    baseline: float
    baseline_low: float | None
    baseline_high: float | None
    gain: float
    gain_low: float | None
    gain_high: float | None
    offset: int


class Case(Payload):
    """A word from which the best head of a relation looks for another: the one that is right, and its choice.

    `choice` is −1 if the head attends to no other word.
    """

    relation: str
    right: bool
    example: int
    query: int
    gold: int
    choice: int
    weight: float
    gold_weight: float


class Relations(Payload):
    """All relations, some cases of each, and the words of the sentences these are from."""

    relations: list[Relation]
    cases: list[Case]
    words: dict[int, list[str]]


class PlacedHead(Payload):
    """A head as a point: distances between points are near those between heads. `order` is its place in the tree."""

    layer: int
    head: int
    kind: str
    x: float
    y: float
    order: int


class Distances(Payload):
    """Heads as points, and the distances (head, head) in the order of `heads`, in nats; empty if there are too many."""

    heads: list[PlacedHead]
    distances: list[list[float | None]]
    note: str


class SearchRequest(Payload):
    """A search over heads: conditions by name, each with the values of which one must hold."""

    source: dict[str, list[str]] = Field(max_length=10)
    target: dict[str, list[str]] = Field(max_length=10)
    examples: int = Field(ge=1, le=2000)


class SearchKey(Payload):
    """The key of a search, by which its result is asked for."""

    key: str


class FoundHead(Payload):
    """A head, its mean attention between the tokens of a search with its interval, and what even attention gives."""

    layer: int
    head: int
    attention: float | None
    low: float | None
    high: float | None
    even: float | None
    strongest: float | None


class FoundHeads(Payload):
    """All heads, the one that attends most first, and the sentence about it."""

    sentence: str
    texts: int
    queries: int
    heads: list[FoundHead]
