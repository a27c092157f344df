"""The payload of a map's nearest maps."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload


class Neighbor(Payload):
    """A map, and its distance from the map that was asked for."""

    example: int
    layer: int
    head: int
    distance: float


class Neighbors(Payload):
    """The maps nearest to a map by their vectors, nearest first.

    `features` names the vectors, those that the projection was made from; `median` is the median distance of all maps
    from this one, to judge distances by.
    """

    projection: str
    features: str
    example: int
    layer: int
    head: int
    median: float
    maps: list[Neighbor]
