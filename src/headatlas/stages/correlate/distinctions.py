"""What tells clusters with the same phrases apart: a statistic, where they are, their texts, or a single map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from headatlas.stages.correlate.names import ALONE, WINDOWS, Home, Name, Subject, name_phrases, rivals, superseded
from headatlas.statistics import Statistic, statistic
from headatlas.wording import Distinction, Head, cluster_name, distinction_words
from headatlas.wording.patterns import Kind

LONGER = 1.25  # ratio of the mean lengths of texts from which on they tell clusters apart …
MUCH_LONGER = 2  # … and before anything else does
LESS = 0.5  # weight of having less of something: that a cluster has more says more about it


def names(subjects: Mapping[int, Subject]) -> dict[int, Name]:
    """Name each subject, the most important first; no two that are clusters at the same level get the same name.

    >>> from headatlas.stages.correlate.names import Evidence, Home
    >>> sink = [Evidence("special:[SEP]", 0.8, 0.1, 0.9, 0.88, 0.92)]
    >>> both = [Subject(sink, Home(heads=((layer, 2),), first=(0, layer, 2))) for layer in (3, 5)]
    >>> [name_text(name) for name in names(dict(enumerate(both))).values()]
    ['rests on separators, mostly L3·H2', 'rests on separators, mostly L5·H2']
    """
    named = name_phrases(subjects)
    same = rivals(subjects, {key: frozenset(name.phrases) for key, name in named.items()})
    used: dict[int, str] = {}
    for key in sorted(named, key=lambda key: not subjects[key].default):  # a stable order: the most important first
        if not same[key]:
            continue
        name = named[key]
        others, taken = [subjects[other] for other in same[key]], {used.get(other) for other in same[key]}
        for distinction in distinctions(subjects[key], name, others):
            words = _words(distinction)
            if words not in taken:
                named[key], used[key] = replace(name, distinction=distinction), words
                break
    return named


def name_text(name: Name) -> str:
    """The name of a cluster that is not noise."""
    return cluster_name(0, name.phrases, _words(name.distinction) if name.distinction else "")


def _words(distinction: Distinction) -> str:
    name = distinction["statistic"]
    return distinction_words(distinction, statistic(name).comparative(bool(distinction["higher"])) if name else "")


def distinctions(subject: Subject, name: Name, others: Sequence[Subject]) -> Iterator[Distinction]:
    """What tells a subject from others, the most telling first; the last always does, since they share no map."""
    home, homes = subject.home, [other.home for other in others]
    yield from _texts(home, homes, MUCH_LONGER)
    yield from _statistics(subject, name, others)
    if home.heads:
        yield _distinction("heads", heads=home.heads)
    if home.layers:
        yield _distinction("layers", layers=home.layers)
    yield from _texts(home, homes, LONGER)
    if home.examples:
        yield _distinction("examples", examples=home.examples)
    yield _distinction("lead", heads=(home.lead,))
    example, layer, head = home.first
    yield _distinction("map", heads=((layer, head),), examples=(example,))


def _texts(home: Home, homes: Sequence[Home], ratio: float) -> Iterator[Distinction]:
    """Whether its texts are longer or shorter than those of all others."""
    lengths = [other.length for other in homes]
    if home.length >= ratio * max(lengths):
        yield _distinction("texts", higher=True, value=home.length, others=max(lengths))
    elif home.length * ratio <= min(lengths):
        yield _distinction("texts", higher=False, value=home.length, others=min(lengths))


def _statistics(subject: Subject, name: Name, others: Sequence[Subject]) -> Iterator[Distinction]:
    """The statistics that are clearly higher or lower than in all others, the clearest first."""
    means: dict[str, list[float]] = {}
    for item in (item for other in others for item in other.evidence):
        means.setdefault(item.statistic, []).append(item.mean)
    margins: dict[tuple[str, bool], float] = {}
    measured = {item.statistic: item for item in subject.evidence}
    for item in subject.evidence:
        known = means.get(item.statistic, [])
        if len(known) < len(others) or not all(mean == mean for mean in known) or superseded(item, measured):
            continue
        for higher, margin in ((True, item.mean - max(known)), (False, min(known) - item.mean)):
            declared = statistic(item.statistic)
            if _comparable(declared, higher, item.mean) and not _contradicts(declared, higher, name):
                margins[item.statistic, higher] = margin
    clear = {key: margin / statistic(key[0]).least for key, margin in margins.items()}
    clear = {key: margin for key, margin in clear.items() if margin >= 1 and not _in_part(key, clear)}
    for statistic_name, higher in sorted(clear, key=lambda key: -clear[key] * _weight(*key)):
        kind: Kind = "strength" if _gives_name(statistic(statistic_name), name) else "statistic"
        nearest = max(means[statistic_name]) if higher else min(means[statistic_name])
        yield _distinction(
            kind, statistic=statistic_name, higher=higher, value=measured[statistic_name].mean, others=nearest
        )


def _comparable(declared: Statistic, higher: bool, mean: float) -> bool:
    """Whether there are words for it; looking ahead or back must also be true of the subject alone."""
    naming = declared.high if higher else declared.low
    if declared.group == "direction" and naming is not None and naming.bound is not None:
        return mean >= naming.bound if higher else mean <= naming.bound
    return bool(declared.comparative(higher))


def _contradicts(declared: Statistic, higher: bool, name: Name) -> bool:
    """Whether a phrase of the name says the opposite: nearby tokens are not called more distant."""
    if declared.low is None or not name.named:
        return False
    reasons = [reason for reason in name.reasons if statistic(reason.statistic).low is not None]
    return any(
        statistic(reason.statistic).group == declared.group and (reason.delta > 0) != higher for reason in reasons
    )


def _weight(name: str, higher: bool) -> float:
    return 1.0 if higher or statistic(name).low is not None else LESS


def _in_part(key: tuple[str, bool], clear: Mapping[tuple[str, bool], float]) -> bool:
    """Whether most of the difference of a window of offsets lies in a part of it."""
    name, higher = key
    parts = WINDOWS.get(name, set())
    narrower = [*parts, *(other for other, within in WINDOWS.items() if within < parts)]
    return any(clear.get((part, higher), 0.0) >= ALONE * clear[key] for part in narrower)


def _gives_name(declared: Statistic, name: Name) -> bool:
    """Whether a statistic measures what one of the phrases already says about some kind of token."""
    if declared.low is not None or not name.named:
        return False
    reasons = [statistic(reason.statistic) for reason in name.reasons]
    same_group = declared.group != "offset" and declared.group in {reason.group for reason in reasons}
    return same_group or declared in reasons


def _distinction(
    kind: Kind,
    *,
    statistic: str | None = None,
    higher: bool | None = None,
    value: float | None = None,
    others: float | None = None,
    heads: Sequence[tuple[int, int]] = (),
    layers: Sequence[int] = (),
    examples: Sequence[int] = (),
) -> Distinction:
    places = [Head(layer=layer, head=head) for layer, head in heads]
    return Distinction(
        kind=kind, statistic=statistic, higher=higher, value=value, others=others, heads=places, layers=[*layers],
        examples=[*examples],
    )  # fmt: skip
