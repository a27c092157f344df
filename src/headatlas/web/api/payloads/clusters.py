"""Payloads of clusters."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.nulls import NullModels, NullShare, NullValue


class Place(Payload):
    """A map."""

    example: int
    layer: int
    head: int
    distance: float | None


class HeadShare(Payload):
    """A head of a cluster, and the share of the head's maps that lie in it."""

    layer: int
    head: int
    share: float


class Reason(Payload):
    """A statistic behind a cluster's name: its mean in the cluster and in the rest, Cliff's delta and its interval."""

    statistic: str
    plain: str
    mean: float | None
    rest: float | None
    delta: float | None
    low: float | None
    high: float | None


class GoesWith(Payload):
    """The value of a column that goes with a cluster: maps against those expected, and the corrected p."""

    column: str
    value: str
    ratio: float
    q: float


class HeadPlace(Payload):
    """A head."""

    layer: int
    head: int


class Distinction(Payload):
    """What tells a cluster from others with the same phrases; see `headatlas.wording.Distinction`."""

    kind: Literal["statistic", "strength", "heads", "layers", "texts", "examples", "lead", "map"]
    statistic: str | None
    plain: str | None
    higher: bool | None
    value: float | None
    others: float | None
    heads: list[HeadPlace]
    layers: list[int]
    examples: list[int]


class ClusterRow(Payload):
    """A cluster, as in the table `clusters`. `typical` and `unlike` index the maps of `Clusters.exemplars`.

    `phrases` and `layers` are null before correlate. Then `layers` is empty where the cluster is spread over the model,
    and `heads` holds those of which it is the main pattern or, if there is none, those that have more of it than
    expected. Where no phrase fits (`named` is false), the reason is the most telling of the `statistics` compared.
    """

    cluster: int
    name: str
    phrases: list[str] | None
    distinction: Distinction | None
    maps: int
    share: float
    stability: float | None
    layers: list[int] | None
    heads: list[HeadShare]
    mostly: int | None
    head_entropy: float | None
    examples: int | None
    reasons: list[Reason]
    named: bool
    statistics: int
    association: GoesWith | None
    nulls: list[NullShare]  # none unless null models were computed
    typical: list[int]
    unlike: list[int]


Shuffled = Literal["heads", "examples", "texts", "windows", "grid"]
Untested = Literal["one cluster", "one value", "one label per head", "same in all examples", "few groups"]


class Association(Payload):
    """How far the clusters follow a factor: what was shuffled for p, or why there is nothing to test."""

    factor: str
    cramers_v: float | None
    low: float | None
    high: float | None
    ami: float | None
    p: float | None
    permutations: int | None
    n: int | None
    shuffled: Shuffled | None
    untested: Untested | None
    binned: bool
    left_out: int
    explained: float | None  # share of the variation of vectors, less chance; null: not computed
    explained_low: float | None
    explained_high: float | None
    explained_p: float | None
    within_heads: bool | None  # whether it is a share of the variation within heads, or of all maps


class Thresholds(Payload):
    """What the analysis decided by; see `headatlas.wording.thresholds`."""

    one_job: float
    mostly: float
    significant: float
    explained: float  # share of a head's variation from which on a change is reported
    matters: float  # share of all variation below which it is too little to matter
    groups: float  # with fewer independent texts, nothing is tested
    differs: float  # difference of means from which on a statistic is mentioned
    rare: float  # share of its examples that a head treats unlike others


class Jobs(Payload):
    """How many heads there are, and how many of them have one job."""

    heads: int
    one_job: int


class Locality(Payload):
    """Whether heads of one layer, or of adjacent layers, are alike."""

    neighbors: Literal["same layer", "adjacent layers"]
    similarity: float | None
    all_pairs: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    untested: Literal["few groups", "few layers"] | None


class Quality(Payload):
    """A measure of a clustering; stability has a number of `pairs` of bootstrap samples."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    maps: int | None
    pairs: int | None


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
    thresholds: Thresholds
    groups: int | None  # independent texts; null before correlate
    jobs: Jobs | None
    clusters: list[ClusterRow]
    exemplars: list[Place]
    knows_heads: bool  # the encoder was trained to tell heads apart: that clusters follow heads is partly built in
    quality: list[Quality]
    associations: list[Association]
    locality: list[Locality]
    null: NullModels | None  # what holds for null models, if they were computed
    unlike: str | None  # the column of how far each map is from what its head usually does, if it is known
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
    nulls: list[NullValue]  # of a head: the share of its maps under each null model, if these were computed


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
    """A similar head: how far apart their vectors are, and the share of all pairs of heads that are farther apart."""

    layer: int
    head: int
    distance: float
    closer_than: float


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


class HeadDistance(Payload):
    """The scale of `Related.distance`: the median and the largest distance of two heads."""

    typical: float
    largest: float


class Profiles(Payload):
    """The clusters of every head, and the heads like it."""

    clusters: list[int]
    head_distance: HeadDistance | None
    heads: list[Profile]
