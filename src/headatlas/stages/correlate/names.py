"""What to call a cluster: fixed rules over readable phrases, from the statistics in which it differs most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headatlas.progress import many
from headatlas.statistics import COMBINED, Statistic, statistic

LEAST = 0.33  # a smaller Cliff's delta names nothing
SMALL = 0.15  # … but may tell two clusters of the same name apart, if their deltas differ by LEAST
MASS = 0.15  # attention that must go to a kind of token for a cluster to be named after it …
FAINT = 0.10  # … or this much, if it is twice that of the rest
ALONE = 0.6  # share of one offset in a window of four from which on the offset gives the name
MIXED = "mixed"

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

    def __str__(self) -> str:
        sure = "" if self.low != self.low else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.statistic} {self.mean:.2f} against {self.rest:.2f}, delta {self.delta:.2f}{sure}"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that fits a cluster, and why."""

    text: str
    family: str
    score: float
    why: Evidence


def phrases(evidence: Sequence[Evidence], least: float = LEAST) -> list[Phrase]:
    """The phrases that fit, the most telling first, one of each family.

    A kind of token scores its delta plus how much more attention goes to it than in the rest; breadth, reach and
    direction score their delta alone, so that a clear pattern of tokens comes before them.
    """
    means = {one.statistic: one.mean for one in evidence}
    fitting = [found for one in evidence if (found := _phrase(one, means, least)) is not None]
    fitting.sort(key=lambda one: (-round(one.score, 2), statistic(one.why.statistic).rank))
    return list({one.family: one for one in reversed(fitting)}.values())[::-1]


def _phrase(one: Evidence, means: Mapping[str, float], least: float) -> Phrase | None:
    if not abs(one.delta) >= least:
        return None
    declared = statistic(one.statistic)
    if declared.high is None:
        return None
    if declared.low is not None:  # how attention is spread
        return _spread(one, declared)
    considerable = one.mean >= MASS or (one.mean >= FAINT and one.mean >= 2 * one.rest)
    if one.delta < 0 or not considerable or _better_told(one, means):
        return None
    return Phrase(declared.high.phrase, declared.group, one.delta + max(0.0, one.mean - one.rest), one)


def _spread(one: Evidence, declared: Statistic) -> Phrase | None:
    """The phrase for high or for low values, if the mean is within its bound."""
    naming, sign = (declared.high, 1) if one.delta > 0 else (declared.low, -1)
    if naming is None or (naming.bound is not None and not sign * one.mean >= sign * naming.bound):
        return None
    return Phrase(naming.phrase, declared.group, sign * one.delta, one)


def _better_told(one: Evidence, means: Mapping[str, float]) -> bool:
    """Whether a part of a window of offsets, or the window on both sides, says it better."""
    if one.statistic not in WINDOWS:
        return False
    parts = WINDOWS[one.statistic]
    narrower = [name for name, others in WINDOWS.items() if others < parts]
    wider = [means.get(name, 0.0) for name, others in WINDOWS.items() if others > parts]
    most = max(means.get(part, 0.0) for part in [*parts, *narrower])
    return most >= ALONE * one.mean or one.mean < ALONE * max(wider, default=0.0)


def names(evidence: Mapping[int, Sequence[Evidence]]) -> dict[int, tuple[str, str]]:
    """Name and evidence of each cluster; clusters in order of importance, since numbers go to the later ones.

    >>> sink = [Evidence("special:[SEP]", 0.8, 0.1, 0.9, 0.88, 0.92), Evidence("largest", 0.7, 0.3, 0.4, 0.3, 0.5)]
    >>> names({0: sink, 1: [sink[0], Evidence("largest", 0.4, 0.4, 0.0, -0.1, 0.1)]})
    {0: ('separator sink, sharp', 'special:[SEP] 0.80 ...'), 1: ('separator sink', 'special:[SEP] 0.80 ...')}
    """
    used = {cluster: phrases(found)[:1] for cluster, found in evidence.items()}
    for _ in range(2):
        used = {cluster: own + _more(cluster, used, evidence) for cluster, own in used.items()}
    counted: Counter[frozenset[str]] = Counter()  # the order of phrases tells nothing apart
    found = {}
    for cluster, own in used.items():
        plain, same = ", ".join(one.text for one in own) or MIXED, frozenset(one.text for one in own)
        counted[same] += 1
        name = f"{plain} {counted[same]}" if counted[same] > 1 else plain
        found[cluster] = (name, _why(own, evidence[cluster]))
    return found


def _more(cluster: int, used: Mapping[int, list[Phrase]], evidence: Mapping[int, Sequence[Evidence]]) -> list[Phrase]:
    """The phrase that best tells a cluster from those of the same name, if there are any."""
    own = {one.text for one in used[cluster]}
    same = [other for other in used if other != cluster and {one.text for one in used[other]} == own]
    if not own or not same:
        return []
    theirs: dict[str, list[float]] = {}
    for other in same:
        for one in evidence[other]:
            theirs.setdefault(one.statistic, []).append(one.delta)
    families = {one.family for one in used[cluster]}
    families |= {"direction"} if families & {"offset", "first"} else set()  # a fixed place has said where it looks
    candidates = [one for one in phrases(evidence[cluster], SMALL) if one.family not in families]

    def apart(one: Phrase) -> float:
        others = [delta for delta in theirs[one.why.statistic] if delta == delta]
        return abs(one.why.delta - sum(others) / len(others)) if others else 0.0

    return sorted((one for one in candidates if apart(one) >= LEAST), key=lambda one: -apart(one))[:1]


def _why(used: Sequence[Phrase], evidence: Sequence[Evidence]) -> str:
    if used:
        return "; ".join(str(one.why) for one in used)
    known = [one for one in evidence if one.delta == one.delta]
    if not known:
        return "no other maps to compare with"
    strongest = max(known, key=lambda one: abs(one.delta))
    return f"nothing with a name stands out; most telling of {many(len(known), 'statistic')}: {strongest}"
