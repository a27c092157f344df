"""Payloads of the mean attention of a head, by distance and by position."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads.base import Payload

Method = Literal["maps", "statistics"]


class Means(Payload):
    """Mean attention at each place, over texts or images.

    `rows` and `columns` say how the places lie: those of texts in one row. The first is at (`first_row`,
    `first_column`). `sources` counts independent texts that have the place; with few, there is no interval. `even` is
    what it would be if every query attended evenly to all keys that it may attend to.
    """

    rows: int
    columns: int
    first_row: int
    first_column: int
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    sources: list[int]
    even: list[float | None]


class Average(Payload):
    """The mean attention of a head.

    `offsets` are by distance from query to key: in tokens, below 0 back, or in rows and columns of patches;
    `positions` by the position of the key; `special` tokens of images are apart. They are means over `maps` of
    `examples` texts, from their stored queries and keys. Where attention is not the softmax of these products,
    `offsets` are stored `statistics` of all texts, and `note` says why.
    """

    layer: int
    head: int
    method: Method
    examples: int
    sources: int
    note: str
    offsets: Means | None
    positions: Means | None
    special: Means | None
