"""Roles of heads, mentions that they find, heads that they read, and trees that all of them find: in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, count, interval, join_list, many, percent
from headatlas.wording.probe import first, ordinal
from headatlas.wording.probe_parking import RESTS

RULES = {
    "nearest": "the nearest mention", "same_word": "the nearest with the same head word",
    "rules": "same text, same word, agreement",
}  # fmt: skip
REPEATED = "on repeated random tokens"
READS = {"key": "by its keys", "query": "by its queries", "value": "by its values"}
PROBES = {
    "attention": "attention alone", "attention_words": "attention and word vectors",
    "right_branching": "the next word", "best_offset": "the best offset", "best_head": "the best head",
    "distance": "distance alone", "distance_words": "distance and word vectors",
    "untrained_attention": "attention of the untrained model",
    "untrained_attention_words": "attention of the untrained model and word vectors",
}  # fmt: skip


class Role(TypedDict):
    """How much attention a head puts on the keys of a role."""

    layer: int
    head: int
    on: str
    score: float
    low: float | None
    high: float | None
    chance: float


def role_of(on: str) -> str:
    """What a role was tried on, or what its heads rest on; nothing for the texts themselves.

    >>> role_of("repeated"), role_of("first"), role_of("texts")
    ('on repeated random tokens', 'resting on the first token', '')
    """
    return REPEATED if on == "repeated" else f"resting on {RESTS[on]}" if on in RESTS else ""


def role_score(row: Role) -> str:
    """The attention on the keys of a role, beside chance.

    >>> role_score(Role(layer=0, head=2, on="texts", score=0.88, low=0.87, high=0.89, chance=0.03))
    '88% [87%, 89%] of its attention, by chance 3%'
    """
    where = f" {REPEATED}" if row["on"] == "repeated" else ""
    value = interval(row["score"], row["low"], row["high"], percent)
    return f"{value} of its attention{where}, by chance {percent(row['chance'])}"


def roles_line(having: int, heads: int, counts: Mapping[str, int]) -> str:
    """How many heads have a role, and how many have each, the most frequent first; `counts` are by names of roles.

    >>> roles_line(61, 72, {"previous-token head": 9, "induction head": 0, "attention sink": 55})
    '61 of 72 heads have a role: attention sink 55 and previous-token head 9'
    >>> roles_line(0, 72, {"induction head": 0})
    'none of 72 heads has a role'
    """
    if not having:
        return f"none of {many(heads, 'head')} has a role"
    ranked = sorted(((called, number) for called, number in counts.items() if number), key=lambda each: -each[1])
    named = first([f"{called} {count(number)}" for called, number in ranked], 4)
    return f"{count(having)} of {many(heads, 'head')} {'has' if having == 1 else 'have'} a role: {named}"


def role_line(called: str, rows: Sequence[Role]) -> str:
    """The heads with a role, the strongest first.

    >>> row = Role(layer=0, head=2, on="texts", score=0.88, low=0.87, high=0.89, chance=0.03)
    >>> role_line("previous-token head", [row, row | {"layer": 3}])
    'previous-token head: 2 heads; most L0·H2, 88% [87%, 89%] of its attention, by chance 3%; also L3·H2'
    """
    names = [head_name(row["layer"], row["head"]) for row in rows]
    also = f"; also {first(names[1:], 5)}" if names[1:] else ""
    most = "most " if also else ""
    return f"{called}: {many(len(rows), 'head')}; {most}{names[0]}, {role_score(rows[0])}{also}"


class Antecedents(TypedDict):
    """The share of mentions for which a head finds an antecedent, beside the best rule."""

    kind: str
    layer: int
    head: int
    cases: int
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    best_baseline: str
    baseline: float
    gain_low: float | None


def antecedent_line(row: Antecedents) -> str:
    """The head that finds antecedents best, beside the best rule.

    >>> antecedent_line(Antecedents(kind="pronoun", layer=4, head=3, cases=200, accuracy=0.5, accuracy_low=0.45,
    ...     accuracy_high=0.55, best_baseline="nearest", baseline=0.4, gain_low=0.02))
    'pronoun, 200 mentions: L4·H3 finds an antecedent in 50% [45%, 55%], the best rule (the nearest mention) in 40%'
    """
    accuracy = interval(row["accuracy"], row["accuracy_low"], row["accuracy_high"], percent)
    head = head_name(row["layer"], row["head"])
    better = row["gain_low"] is not None and row["gain_low"] > 0
    rule = f"the best rule ({RULES[row['best_baseline']]})"
    than = f"{rule} in" if better else f"no better than {rule},"
    mentions = many(row["cases"], "mention")
    return f"{row['kind']}, {mentions}: {head} finds an antecedent in {accuracy}, {than} {percent(row['baseline'])}"


class Composed(TypedDict):
    """How strongly a later head (b) reads what an earlier one (a) writes."""

    kind: str
    rank: int  # from 0
    layer_a: int
    head_a: int
    layer_b: int
    head_b: int
    score: float
    baseline: float


def composed_line(row: Composed) -> str:
    """A pair of heads that connect.

    >>> composed_line(Composed(kind="key", rank=0, layer_a=16, head_a=0, layer_b=18, head_b=6, score=0.16,
    ...     baseline=0.042))
    'L18·H6 reads, by its keys, what L16·H0 writes: 0.16, random rotations 0.042, 1st of all pairs'
    """
    earlier, later = head_name(row["layer_a"], row["head_a"]), head_name(row["layer_b"], row["head_b"])
    numbers = (
        f"{amount(row['score'])}, random rotations {amount(row['baseline'])}, {ordinal(row['rank'] + 1)} of all pairs"
    )
    return f"{later} reads, {READS[row['kind']]}, what {earlier} writes: {numbers}"


class Attached(TypedDict):
    """The share of words whose head in the tree a probe or a baseline finds."""

    probe: str
    uas: float
    uas_low: float | None
    uas_high: float | None


def attached_line(rows: Sequence[Attached], subject: str) -> str:
    """How many words get the right head, by several parsers.

    >>> attached_line([Attached(probe="attention", uas=0.5, uas_low=0.49, uas_high=0.51)], "probes")
    'words with the right head, probes: attention alone 50% [49%, 51%]'
    """
    parts = [f"{PROBES[row['probe']]} {interval(row['uas'], row['uas_low'], row['uas_high'], percent)}" for row in rows]
    return f"words with the right head, {subject}: {join_list(parts)}" if parts else ""
