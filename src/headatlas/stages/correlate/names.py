"""What to call a cluster: fixed rules over readable phrases, from the statistics in which it differs most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headatlas.sources import Beyond, Columns
from headatlas.statistics import COMBINED, Statistic, statistic
from headatlas.wording import Distinction

LEAST = 0.33  # no cluster is named after a smaller Cliff's delta
MASS = 0.15  # attention that must go to a kind of token for a cluster to be named after it …
FAINT = 0.10  # … or this much, if it is twice that of the rest
PLAIN = 0.25  # attention after which maps that nothing sets apart are called
LEADS = 0.5  # attention from which on a kind of token comes before how attention is spread
EXCESS = 0.05  # attention to tokens of some content, beyond what distance gives them, for a name
ALONE = 0.6  # share of one offset in a window of four from which on the offset gives the name
MOST = 2  # phrases in a name

# sums of neighboring offsets; they name a cluster if no part of them has most of the mass, and one side only if it has
# most of both
WINDOWS = {name: {*source.plus} for name, source in COMBINED.items() if not source.minus}
# measured without the first token and special tokens, which are far away by accident, where that is possible
BETTER = {"distance_share": "reach", "signed_distance_share": "direction"}
# a fixed place implies where it is
IMPLIED = {"offset": {"direction", "reach"}, "first": {"direction"}}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A statistic in a cluster and in the rest. A phrase that `fits` also holds for most of the cluster's maps."""

    statistic: str
    mean: float
    rest: float
    delta: float
    low: float
    high: float
    fits: bool = True


@dataclass(frozen=True, slots=True)
class Home:
    """Where the maps of a cluster are: what tells it from others if its statistics do not.

    `heads`, `layers` and `examples` have at least half of its maps; they are empty where that takes too many to mean
    anything.
    """

    heads: tuple[tuple[int, int], ...] = ()
    layers: tuple[int, ...] = ()
    examples: tuple[int, ...] = ()
    lead: tuple[int, int] = (0, 0)  # the head with most of its maps
    length: float = float("nan")  # mean number of tokens of its texts
    first: tuple[int, int, int] = (0, 0, 0)  # example, layer and head of its first map; no two clusters share one


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be named: a cluster, or a node of a tree, which is a cluster at some `levels` of detail, from – to.

    A cluster of the default cut is told only from others of that cut: nodes of other cuts are told from it.
    """

    evidence: Sequence[Evidence]
    home: Home = field(default_factory=Home)
    levels: tuple[int, int] = (0, 0)
    default: bool = False

    def yields_to(self, other: Subject) -> bool:
        """Whether both are clusters at some level, and this is the one that must be told from the other."""
        meet = self.levels[0] <= other.levels[1] and other.levels[0] <= self.levels[1]
        return meet and (other.default or not self.default)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that fits a cluster, and why."""

    text: str
    family: str
    score: float
    why: Evidence

    @property
    def rank(self) -> int:
        """Order among phrases that fit equally well."""
        return statistic(self.why.statistic).rank

    @property
    def spread(self) -> bool:
        """Whether it says how attention is spread, not which kind of token has it."""
        return statistic(self.why.statistic).low is not None

    @property
    def leads(self) -> bool:
        """Whether it says where most of the attention goes."""
        return not self.spread and self.why.mean >= LEADS


@dataclass(frozen=True, slots=True)
class Name:
    """A cluster's phrases and the reasons for them, and what tells it from others with the same phrases.

    Where no phrase fits, `named` is False and the reason is the most telling of the `statistics` that could be
    compared, if any could.
    """

    phrases: tuple[str, ...] = ()
    reasons: tuple[Evidence, ...] = ()
    named: bool = False
    statistics: int = 0
    distinction: Distinction | None = None


def phrases(evidence: Sequence[Evidence]) -> list[Phrase]:
    """The phrases that fit, the most telling first, one of each family.

    A kind of token scores its delta plus how much more attention goes to it than in the rest; breadth, reach and
    direction score their delta alone, so that a clear pattern of tokens comes before them, and one with most of the
    attention always does. Of two phrases for one of
    these, the stricter one, of lower rank, is taken: what spreads evenly also spreads widely. Content (the same word,
    punctuation) counts as far as it exceeds what distance gives: texts differ in how much they have of it, and that
    is no pattern of attention.
    """
    known = {item.statistic: item for item in evidence}
    fitting = [phrase for item in evidence if (phrase := _phrase(item, known)) is not None]
    fitting.sort(key=lambda phrase: (not phrase.leads, -round(phrase.score, 2), phrase.rank))
    strictest = {phrase.family: phrase.rank for phrase in sorted(fitting, key=lambda phrase: -phrase.rank)}
    fitting = [phrase for phrase in fitting if not phrase.spread or phrase.rank == strictest[phrase.family]]
    first: dict[str, Phrase] = {}
    for phrase in fitting:
        first.setdefault(phrase.family, phrase)
    return list(first.values())


def plain_phrases(evidence: Sequence[Evidence]) -> list[Phrase]:
    """Kinds of tokens that much attention goes to in most maps, the most first, whether or not others have less of it.

    They name what no difference names: that is what the maps show.
    """
    known = {item.statistic: item for item in evidence}
    compared = (item for item in evidence if item.delta == item.delta)  # NaN: there is nothing to compare with
    most = [_plain(item, known) for item in compared if item.fits]
    return sorted(filter(None, most), key=lambda phrase: (-round(phrase.score, 2), phrase.rank))


def _plain(evidence: Evidence, known: Mapping[str, Evidence]) -> Phrase | None:
    declared = statistic(evidence.statistic)
    if declared.high is None or declared.low is not None or f"{evidence.statistic}_beyond" in known:
        return None
    enough = (FAINT if _is_excess(declared) else PLAIN) <= evidence.mean <= 1
    if not enough or _better_described(evidence, known):
        return None
    return Phrase(declared.high.phrase, declared.group, evidence.mean, evidence)


def _phrase(evidence: Evidence, known: Mapping[str, Evidence]) -> Phrase | None:
    declared = statistic(evidence.statistic)
    if declared.high is None:
        return None
    if declared.low is not None:  # how attention is spread
        return _spread(evidence, declared) if _matters(evidence) and not superseded(evidence, known) else None
    beyond = known.get(f"{evidence.statistic}_beyond")
    if beyond is not None and beyond.mean == beyond.mean:  # NaN: queries and keys are different tokens
        excessive = _matters(beyond) and beyond.delta > 0 and beyond.mean >= EXCESS
        return _mass(evidence, declared, beyond) if excessive else None
    faint = evidence.mean >= FAINT and (_is_excess(declared) or evidence.mean >= 2 * evidence.rest)
    considerable = evidence.mean >= MASS or faint
    possible = evidence.mean <= 1  # offsets are means over different queries: in texts of a few tokens, sums exceed 1
    if not (_matters(evidence) and evidence.delta > 0 and considerable and possible):
        return None
    return None if _better_described(evidence, known) else _mass(evidence, declared, evidence)


def superseded(evidence: Evidence, known: Mapping[str, Evidence]) -> bool:
    """Whether a better statistic measures the same; NaN: it cannot, since queries and keys are different tokens."""
    better = known.get(BETTER.get(evidence.statistic, ""))
    return better is not None and better.mean == better.mean


def _is_excess(declared: Statistic) -> bool:
    """Whether it counts only what chance and distance do not give."""
    return isinstance(declared.source, Beyond | Columns)


def _matters(evidence: Evidence) -> bool:
    """Whether most maps share a difference that is consistent, and large enough."""
    difference = evidence.mean - evidence.rest
    large = abs(evidence.delta) >= LEAST and abs(difference) >= statistic(evidence.statistic).least
    return evidence.fits and large and evidence.delta * difference > 0


def _mass(evidence: Evidence, declared: Statistic, ranked_by: Evidence) -> Phrase:
    """The phrase for a kind of token; what a text has of it does not count, only what a head makes of it."""
    assert declared.high is not None
    score = ranked_by.delta + ranked_by.mean - ranked_by.rest
    return Phrase(declared.high.phrase, declared.group, score, evidence)


def _spread(evidence: Evidence, declared: Statistic) -> Phrase | None:
    """The phrase for high or for low values, if the mean is within its bound."""
    naming, sign = (declared.high, 1) if evidence.delta > 0 else (declared.low, -1)
    if naming is None or (naming.bound is not None and not sign * evidence.mean >= sign * naming.bound):
        return None
    return Phrase(naming.phrase, declared.group, sign * evidence.delta, evidence)


def _better_described(evidence: Evidence, known: Mapping[str, Evidence]) -> bool:
    """Whether another statistic of offsets describes the cluster better.

    For a window that is a part of it, or the window on both sides; for a token two or more places away the window that
    it is in.
    """
    means = {name: item.mean for name, item in known.items() if item.fits}
    if evidence.statistic not in WINDOWS:
        sides = [means[name] for name, parts in WINDOWS.items() if evidence.statistic in parts and name in means]
        return evidence.statistic.startswith("offset") and evidence.mean < ALONE * min(sides, default=0.0)
    parts = WINDOWS[evidence.statistic]
    narrower = [name for name, others in WINDOWS.items() if others < parts]
    wider = [means.get(name, 0.0) for name, others in WINDOWS.items() if others > parts]
    most = max(means.get(part, 0.0) for part in [*parts, *narrower])
    return most >= ALONE * evidence.mean or evidence.mean < ALONE * max(wider, default=0.0)


def name_phrases(subjects: Mapping[int, Subject]) -> dict[int, Name]:
    """The phrases of each subject: the most telling one and, where others have it too, one that tells it from these.

    >>> sink = [Evidence("special:[SEP]", 0.8, 0.1, 0.9, 0.88, 0.92), Evidence("largest", 0.7, 0.3, 0.4, 0.3, 0.5)]
    >>> both = {0: Subject(sink), 1: Subject([sink[0], Evidence("largest", 0.4, 0.4, 0.0, -0.1, 0.1)])}
    >>> [name.phrases for name in name_phrases(both).values()]
    [('rests on separators', 'focuses sharply'), ('rests on separators',)]
    """
    used = {key: _first(subject.evidence) for key, subject in subjects.items()}
    for _ in range(MOST - 1):
        same = rivals(subjects, {key: frozenset(phrase.text for phrase in chosen) for key, chosen in used.items()})
        used = {
            key: chosen + _more(subjects[key], chosen, [subjects[other] for other in same[key]])
            for key, chosen in used.items()
        }
    return {key: _name(chosen, subjects[key].evidence) for key, chosen in used.items()}


def _first(evidence: Sequence[Evidence]) -> list[Phrase]:
    """The phrase that a name begins with, if there is one: where most of the attention goes, or what differs most."""
    telling, plain = phrases(evidence), plain_phrases(evidence)
    where = [phrase for phrase in plain if phrase.leads] if not telling or telling[0].spread else []
    return (where or telling or plain)[:1]


def rivals(subjects: Mapping[int, Subject], texts: Mapping[int, frozenset[str]]) -> dict[int, list[int]]:
    """The others that each must be told from: those with the same phrases, in whatever order."""
    groups: dict[frozenset[str], list[int]] = {}
    for key in subjects:
        groups.setdefault(texts[key], []).append(key)
    return {
        key: [other for other in groups[texts[key]] if other != key and subject.yields_to(subjects[other])]
        for key, subject in subjects.items()
    }


def _name(chosen: Sequence[Phrase], evidence: Sequence[Evidence]) -> Name:
    comparable = [item for item in evidence if item.delta == item.delta]  # NaN: there is nothing to compare with
    reasons = [phrase.why for phrase in chosen]
    if not chosen and comparable:
        reasons = [max(comparable, key=lambda item: abs(item.delta))]
    return Name(tuple(phrase.text for phrase in chosen), tuple(reasons), bool(chosen), len(comparable))


def _more(subject: Subject, chosen: Sequence[Phrase], others: Sequence[Subject]) -> list[Phrase]:
    """The phrase that best tells a subject from those of the same name, if there are any."""
    if not chosen or not others:
        return []
    families = {phrase.family for phrase in chosen}
    families |= {implied for family in families for implied in IMPLIED.get(family, ())}
    candidates = [phrase for phrase in phrases(subject.evidence) if phrase.family not in families]
    deltas: dict[str, list[float]] = {phrase.why.statistic: [] for phrase in candidates}
    for item in (item for other in others for item in other.evidence if item.statistic in deltas):
        deltas[item.statistic] += [item.delta] if item.delta == item.delta else []

    def difference(phrase: Phrase) -> float:
        known = deltas[phrase.why.statistic]
        return abs(phrase.why.delta - sum(known) / len(known)) if known else 0.0

    distinct = (phrase for phrase in candidates if difference(phrase) >= LEAST)
    return sorted(distinct, key=lambda phrase: -difference(phrase))[:1]
