"""Payloads of the tree of a clustering."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.clusters import Distinction, Reason


class NodeRow(Payload):
    """A node of a tree: it is a pattern at every level from `coarsest` to `finest`, which are numbers of patterns.

    `cluster` is set for the clusters of the default level. `phrases` is null before correlate, and where a node has no
    name but that of a node above it. `low` and `high` are the interval of the stability.
    """

    node: int
    parent: int | None
    cluster: int | None
    name: str
    phrases: list[str] | None
    reasons: list[Reason]
    named: bool
    distinction: Distinction | None
    maps: int
    share: float
    stability: float | None
    low: float | None
    high: float | None
    coarsest: int
    finest: int
    first_leaf: int
    last_leaf: int


class Tree(Payload):
    """The tree of a clustering: every node that is a pattern at some level, parents before their parts.

    `leaves` is the column (`Clusters.labels` is another) with the leaf of each map: a node holds the maps of the leaves
    from `first_leaf` to `last_leaf`. The buffer of mean maps is in the order of `nodes`; `sentences` has one sentence
    per level, from 1 on.
    """

    clustering: str
    leaves: str
    default: int
    nodes: list[NodeRow]
    sentences: list[str]
