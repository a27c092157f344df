"""Payloads of clusters."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload


class Place(Payload):
    """A map."""

    example: int
    layer: int
    head: int
    distance: float | None


class ClusterRow(Payload):
    """A cluster: its name, evidence, size and home. `typical` and `unlike` index the maps of `Clusters.exemplars`."""

    cluster: int
    name: str
    evidence: str
    maps: int
    share: float
    stability: float | None
    layers: str
    heads: str
    n_heads: int | None
    head_entropy: float | None
    examples: int | None
    association: str | None
    typical: list[int]
    unlike: list[int]


class Association(Payload):
    """How far the clusters follow a factor."""

    factor: str
    cramers_v: float | None
    low: float | None
    high: float | None
    ami: float | None
    p: float | None
    permutations: int | None
    n: int | None
    note: str


class Locality(Payload):
    """Whether heads of one layer, or of adjacent layers, are alike."""

    neighbours: str
    similarity: float | None
    all_pairs: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None


class Quality(Payload):
    """A measure of a clustering."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    maps: int | None
    note: str


class Clusters(Payload):
    """The clusters of a clustering, the largest first, noise last.

    `labels` and `distance` are the columns (`ColumnCard.slug`) with the cluster of each map and its distance from the
    center. The buffer of means is in the order of `clusters`, that of exemplar maps in the order of `exemplars`. Until
    a clustering is correlated, names are numbers and `command` says what is missing.
    """

    clustering: str
    labels: str
    distance: str
    sentence: str
    summary: list[str]
    clusters: list[ClusterRow]
    exemplars: list[Place]
    quality: list[Quality]
    associations: list[Association]
    locality: list[Locality]
    command: str | None


class Cell(Payload):
    """A cluster against a head, a layer, or a value of a column. `share` is the share of the value's maps."""

    value: str
    layer: int | None
    head: int | None
    maps: int
    expected: float | None
    share: float | None
    low: float | None
    high: float | None
    share_of_cluster: float | None
    ratio: float | None
    residual: float | None
    p: float | None
    q: float | None
    significant: bool


class Factor(Payload):
    """All cells of a factor: head, layer, or a column."""

    factor: str
    cells: list[Cell]


class Evidence(Payload):
    """A statistic inside a cluster and outside: Cliff's delta with its interval, the largest first."""

    statistic: str
    plain: str
    unit: str
    mean: float | None
    rest_mean: float | None
    delta: float | None
    low: float | None
    high: float | None


class Cluster(Payload):
    """Everything of one cluster that its card does not hold."""

    cluster: int
    factors: list[Factor]
    evidence: list[Evidence]


class Related(Payload):
    """A similar head."""

    layer: int
    head: int
    similarity: float | None


class Profile(Payload):
    """A head's clusters: `shares` in the order of `Profiles.clusters`."""

    layer: int
    head: int
    name: str
    main_cluster: int | None
    main_share: float | None
    entropy: float | None
    one_job: bool
    shares: list[float]
    related: list[Related]


class Profiles(Payload):
    """The clusters of every head."""

    clusters: list[int]
    heads: list[Profile]
