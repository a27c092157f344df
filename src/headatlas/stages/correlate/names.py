"""What to call a cluster: fixed rules over readable phrases, from the statistics in which it differs most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headatlas.statistics import COMBINED, Statistic, statistic

LEAST = 0.33  # no cluster is named after a smaller Cliff's delta
SMALL = 0.15  # … but may tell two clusters of the same name apart, if their deltas differ by LEAST
MASS = 0.15  # attention that must go to a kind of token for a cluster to be named after it …
FAINT = 0.10  # … or this much, if it is twice that of the rest
ALONE = 0.6  # share of one offset in a window of four from which on the offset gives the name

# sums of neighboring offsets; they name a cluster if no part of them has most of the mass, and one side only if it has
# most of both
WINDOWS = {name: {*source.plus} for name, source in COMBINED.items() if not source.minus}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A statistic in a cluster and in the rest."""

    statistic: str
    mean: float
    rest: float
    delta: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that fits a cluster, and why."""

    text: str
    family: str
    score: float
    why: Evidence


@dataclass(frozen=True, slots=True)
class Name:
    """A cluster's phrases and the reasons for them.

    `ordinal` tells clusters of the same phrases apart, from 1. Where no phrase fits, `named` is False and the reason is
    the most telling of the `statistics` that could be compared, if any could.
    """

    phrases: tuple[str, ...]
    ordinal: int
    reasons: tuple[Evidence, ...]
    named: bool
    statistics: int


def phrases(evidence: Sequence[Evidence], least: float = LEAST) -> list[Phrase]:
    """The phrases that fit, the most telling first, one of each family.

    A kind of token scores its delta plus how much more attention goes to it than in the rest; breadth, reach and
    direction score their delta alone, so that a clear pattern of tokens comes before them.
    """
    means = {item.statistic: item.mean for item in evidence}
    fitting = [phrase for item in evidence if (phrase := _phrase(item, means, least)) is not None]
    fitting.sort(key=lambda phrase: (-round(phrase.score, 2), statistic(phrase.why.statistic).rank))
    return list({phrase.family: phrase for phrase in reversed(fitting)}.values())[::-1]


def _phrase(evidence: Evidence, means: Mapping[str, float], least: float) -> Phrase | None:
    if not abs(evidence.delta) >= least:
        return None
    declared = statistic(evidence.statistic)
    if declared.high is None:
        return None
    if declared.low is not None:  # how attention is spread
        return _spread(evidence, declared)
    considerable = evidence.mean >= MASS or (evidence.mean >= FAINT and evidence.mean >= 2 * evidence.rest)
    if evidence.delta < 0 or not considerable or _better_described(evidence, means):
        return None
    score = evidence.delta + max(0.0, evidence.mean - evidence.rest)
    return Phrase(declared.high.phrase, declared.group, score, evidence)


def _spread(evidence: Evidence, declared: Statistic) -> Phrase | None:
    """The phrase for high or for low values, if the mean is within its bound."""
    naming, sign = (declared.high, 1) if evidence.delta > 0 else (declared.low, -1)
    if naming is None or (naming.bound is not None and not sign * evidence.mean >= sign * naming.bound):
        return None
    return Phrase(naming.phrase, declared.group, sign * evidence.delta, evidence)


def _better_described(evidence: Evidence, means: Mapping[str, float]) -> bool:
    """Whether a part of a window of offsets, or the window on both sides, describes the cluster better."""
    if evidence.statistic not in WINDOWS:
        return False
    parts = WINDOWS[evidence.statistic]
    narrower = [name for name, others in WINDOWS.items() if others < parts]
    wider = [means.get(name, 0.0) for name, others in WINDOWS.items() if others > parts]
    most = max(means.get(part, 0.0) for part in [*parts, *narrower])
    return most >= ALONE * evidence.mean or evidence.mean < ALONE * max(wider, default=0.0)


def names(evidence: Mapping[int, Sequence[Evidence]]) -> dict[int, Name]:
    """Name each cluster; clusters come in order of importance, since later ones get the higher ordinals.

    >>> sink = [Evidence("special:[SEP]", 0.8, 0.1, 0.9, 0.88, 0.92), Evidence("largest", 0.7, 0.3, 0.4, 0.3, 0.5)]
    >>> named = names({0: sink, 1: [sink[0], Evidence("largest", 0.4, 0.4, 0.0, -0.1, 0.1)]})
    >>> named[0].phrases, named[1].phrases
    (('separator sink', 'sharp'), ('separator sink',))
    """
    used = {cluster: phrases(items)[:1] for cluster, items in evidence.items()}
    for _ in range(2):
        used = {cluster: chosen + _more(cluster, used, evidence) for cluster, chosen in used.items()}
    ordinals: Counter[frozenset[str]] = Counter()  # the order of phrases does not matter
    named = {}
    for cluster, chosen in used.items():
        same = frozenset(phrase.text for phrase in chosen)
        ordinals[same] += 1
        named[cluster] = _name(chosen, ordinals[same], evidence[cluster])
    return named


def _name(chosen: Sequence[Phrase], ordinal: int, evidence: Sequence[Evidence]) -> Name:
    comparable = [item for item in evidence if item.delta == item.delta]  # NaN: there is nothing to compare with
    reasons = [phrase.why for phrase in chosen]
    if not chosen and comparable:
        reasons = [max(comparable, key=lambda item: abs(item.delta))]
    texts = tuple(phrase.text for phrase in chosen)
    return Name(texts, ordinal, tuple(reasons), bool(chosen), len(comparable))


def _more(cluster: int, used: Mapping[int, list[Phrase]], evidence: Mapping[int, Sequence[Evidence]]) -> list[Phrase]:
    """The phrase that best distinguishes a cluster from those of the same name, if there are any."""
    texts = {phrase.text for phrase in used[cluster]}
    same = [other for other in used if other != cluster and {phrase.text for phrase in used[other]} == texts]
    if not texts or not same:
        return []
    other_deltas: dict[str, list[float]] = {}
    for other in same:
        for item in evidence[other]:
            other_deltas.setdefault(item.statistic, []).append(item.delta)
    families = {phrase.family for phrase in used[cluster]}
    families |= {"direction"} if families & {"offset", "first"} else set()  # a fixed offset implies the direction
    candidates = [phrase for phrase in phrases(evidence[cluster], SMALL) if phrase.family not in families]

    def difference(phrase: Phrase) -> float:
        others = [delta for delta in other_deltas[phrase.why.statistic] if delta == delta]
        return abs(phrase.why.delta - sum(others) / len(others)) if others else 0.0

    distinct = (phrase for phrase in candidates if difference(phrase) >= LEAST)
    return sorted(distinct, key=lambda phrase: -difference(phrase))[:1]
