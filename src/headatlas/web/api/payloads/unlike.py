"""Payloads of heads that treat an example unlike others."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload


class UnusualStatistic(Payload):
    """A statistic of a head's map on an example, and its mean over all examples of the head."""

    statistic: str
    plain: str
    value: float
    usual: float


class SharedValue(Payload):
    """A value of a column that the example shares with `others`; the head treats `unlike` of these unlike others."""

    column: str
    value: str
    others: int
    unlike: int


class UnlikeHead(Payload):
    """A head that treats an example unlike others.

    `unlike` is the distance of its map from what it usually does, as a multiple of that within which most of its
    examples lie. `cluster` is that of its map here, `main_cluster` the most frequent one.
    """

    layer: int
    head: int
    unlike: float
    cluster: int
    main_cluster: int
    main_share: float
    statistics: list[UnusualStatistic]
    value: SharedValue | None


class Unlike(Payload):
    """The heads that treat an example unlike others, the most unusual first."""

    example: int
    heads: list[UnlikeHead]
