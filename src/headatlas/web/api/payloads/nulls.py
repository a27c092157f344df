"""Payloads of null models: what is there without what was learned, or without word order."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads.base import Payload

NullKind = Literal["untrained", "permuted", "shuffled"]


class NullValue(Payload):
    """A share under a null model."""

    kind: NullKind
    share: float


class NullShare(NullValue):
    """The share of a pattern under a null model, with its interval, and that of the model itself on the same examples.

    `kept` is the share of the model's maps that keep the pattern: the same head on the same example.
    """

    low: float | None
    high: float | None
    share_real: float
    kept: float | None


class NullJobs(Payload):
    """How many heads have one job under a null model."""

    kind: NullKind
    heads: int
    one_job: int


class NullLocality(Payload):
    """How similar neighbors are under a null model, and all pairs."""

    kind: NullKind
    neighbors: Literal["same layer", "adjacent layers"]
    similarity: float | None
    all_pairs: float | None


class NullNodes(Payload):
    """The share of every node of a tree under a null model, and that of the model itself on the same examples."""

    kind: NullKind
    share: list[float]
    share_real: list[float]


class NullModels(Payload):
    """What holds for all patterns together under null models, on a sample of examples."""

    kinds: list[NullKind]
    examples: int
    jobs: list[NullJobs]
    locality: list[NullLocality]
    nodes: list[NullNodes]  # none unless the clusters are those of a tree
