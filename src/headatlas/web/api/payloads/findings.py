"""Payloads of what the input changes in all heads."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.clusters import HeadPlace


class Shares(Payload):
    """Shares of maps with a pattern: if a column has a value, and on other texts. The interval is of the difference."""

    share: float
    otherwise: float
    low: float | None
    high: float | None


class SwitchedHead(Shares):
    """A head that switches to a pattern."""

    layer: int
    head: int
    q: float


class Switches(Payload):
    """Heads that switch to a pattern, the cluster `cluster`, if a column has a value; `mean` is that of the heads."""

    value: str
    cluster: int
    pattern: str
    examples: int
    heads: list[SwitchedHead]
    mean: Shares


class ChangedHead(Payload):
    """A head that changes with a column: the share of its variation that the column explains, less chance."""

    layer: int
    head: int
    explained: float
    low: float | None
    high: float | None
    q: float


class Contrast(Payload):
    """A statistic in which some heads change most: its means for the values where it is highest and lowest."""

    heads: list[HeadPlace]
    statistic: str
    high: float | None
    high_value: str
    low: float | None
    low_value: str


class ExplainedHead(Payload):
    """The share of a head's variation that a column explains, whether or not that matters."""

    layer: int
    head: int
    explained: float


class ColumnFindings(Payload):
    """What changes with a column: heads that switch to a pattern, and all others that change, the most first.

    `filters`: its values are bars of the Data tab.
    """

    column: str
    label: str
    filters: bool
    switches: list[Switches]
    changed: list[ChangedHead]
    contrast: Contrast | None
    explained: list[ExplainedHead]
    same: list[str]  # labels of columns that cannot be told from it


class SpanFinding(Payload):
    """A statistic between two kinds of spans that changes with a column: the heads, and its means in the first."""

    column: str
    label: str
    filters: bool
    statistic: str
    heads: list[ChangedHead]
    contrast: Contrast


class Findings(Payload):
    """All columns with which heads change, those of the dataset first; then those with which attention between spans
    changes.

    Without any, `compared` has the labels of the columns that were tested; null if vectors were not compared.
    """

    clustering: str
    columns: list[ColumnFindings]
    spans: list[SpanFinding]
    compared: list[str] | None
    texts: int
