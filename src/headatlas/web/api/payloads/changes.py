"""Payloads of what the input changes in a head."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads.base import Payload

Unchanged = Literal["few groups", "one value", "same maps"]


class ValueMean(Payload):
    """The mean of a statistic over the examples with a value of a column."""

    value: str
    mean: float | None


class ChangedStatistic(Payload):
    """A statistic in which a head differs between the values of a column."""

    statistic: str
    plain: str
    means: list[ValueMean]


class Change(Payload):
    """A column, and the share of a head's variation that it explains, less chance.

    `rank` is null if the share is too small or may be chance; `untested` says why there is no test.
    """

    column: str
    label: str
    rank: int | None
    explained: float | None
    low: float | None
    high: float | None
    q: float | None
    groups: int
    untested: Unchanged | None
    statistics: list[ChangedStatistic]


class SpanChange(Payload):
    """Attention of a head between two kinds of spans, and a column with which it changes."""

    column: str
    label: str
    statistic: str
    plain: str
    explained: float
    low: float | None
    high: float | None
    q: float
    means: list[ValueMean]


class Changes(Payload):
    """All columns for one head, the largest share first; none if correlate did not compare vectors.

    `spans` has attention between spans that changes with a column: those of the dataset first, the largest share first.
    """

    layer: int
    head: int
    changes: list[Change]
    spans: list[SpanChange]
