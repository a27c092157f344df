"""Payloads of comparisons: what another model, or the checkpoints of a series, do differently on the same data."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads.atlas import StatisticCard
from headatlas.web.api.payloads.base import Payload


class ComparisonCard(Payload):
    """A comparison of the atlas with others; `line` says of which."""

    name: str
    line: str


class Comparisons(Payload):
    """All comparisons, the latest last, and the command that makes one."""

    comparisons: list[ComparisonCard]
    command: str


class ComparedModel(Payload):
    """A collection that is compared, see `compare_models`: the first, a step, or another seed of the last step."""

    model: int
    role: Literal["first", "step", "noise"]
    label: str
    model_name: str
    examples: int
    layers: int
    heads: int


class HeadSeries(Payload):
    """What a head does at the end, see `compare_series`: values by model, the first and every step.

    `taken_up` is the step from which on it does so; null if it does nothing else than before, or that is not sure.
    """

    layer: int
    head: int
    statistic: str
    taken_up: int | None
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]


class Comparison(Payload):
    """What holds for all steps of a comparison.

    Heads are compared with those at their place, or matched by function. `same_tokens` says for every step whether it
    reads the tokens of the first model. Patterns are those of `clustering`; null: there are none. `groups` counts
    independent texts. `series` is empty unless there are several steps, and `findings` are about it. Buffers of maps
    have room for `across` heads per layer.
    """

    name: str
    match: Literal["place", "function"]
    models: list[ComparedModel]
    same_tokens: list[bool]
    clustering: str | None
    statistics: list[StatisticCard]
    examples: int
    groups: int
    significant: float
    least: float  # the excess over seeds from which on a head counts as changed
    across: int
    series: list[HeadSeries]
    findings: list[str]


class HeadShift(Payload):
    """How far the maps of a head moved at a step, see `compare_heads`.

    `differences` (after − before) are those of every statistic, in the order of `Comparison.statistics`.
    """

    layer: int
    head: int
    other_layer: int | None
    other_head: int | None
    shift: float | None
    shift_low: float | None
    shift_high: float | None
    noise: float | None
    noise_low: float | None
    noise_high: float | None
    noise_most: float | None
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    p: float | None
    q: float | None
    changed: bool | None
    statistic: str | None
    before: float | None
    after: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    pattern_before: int | None
    pattern_after: int | None
    pattern_before_share: float | None
    pattern_after_share: float | None
    pattern_after_outside: float | None
    differences: list[float | None]


class LayerShift(Payload):
    """The mean shift of the heads of a layer at a step, see `compare_layers`."""

    layer: int
    shift: float | None
    low: float | None
    high: float | None
    noise: float | None
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    heads: int
    changed: int | None


class PatternChange(Payload):
    """The share of a pattern before and after, see `compare_patterns`; the interval is of the difference."""

    cluster: int
    share_before: float | None
    share_after: float | None
    difference: float | None
    low: float | None
    high: float | None
    outside: float | None


class MatchedHead(Payload):
    """A head and its counterpart, see `compare_matches`; heads that are left over have no counterpart, or are none."""

    layer: int | None
    head: int | None
    other_layer: int | None
    other_head: int | None
    distance: float | None
    rank: int | None
    null_distance: float | None


class ComparisonStep(Payload):
    """A step beside the first model: findings in sentences, then every number. Heads are those of the first model."""

    step: int
    sentence: str  # the one that leads
    findings: list[str]
    heads: list[HeadShift]
    layers: list[LayerShift]
    patterns: list[PatternChange]
    matches: list[MatchedHead]  # none unless heads are matched by function


class StatisticChange(Payload):
    """A statistic of a head before and after a step, see `compare_stats`; the interval is of the difference."""

    statistic: str
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    q: float | None
    noise: float | None


class HeadStep(Payload):
    """What changed in a head at a step: all statistics, the most telling change first."""

    step: int
    sentence: str  # what it does differently; empty if nothing is known
    statistics: list[StatisticChange]


class ComparedHead(Payload):
    """What changed in a head, at every step."""

    layer: int
    head: int
    steps: list[HeadStep]


class KeptExample(Payload):
    """An example whose maps are kept, see `compare_examples`: its tokens for the first model, its shift by step.

    `target` is the input of a decoder beside an encoder. Images have no tokens.
    """

    place: int
    example: int
    id: str
    window: int
    tokens: list[str]
    target: list[str]
    shift: list[float | None]


class KeptExamples(Payload):
    """All examples whose maps are kept."""

    examples: list[KeptExample]
