"""Relations of a treebank and the heads that find them, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import count, interval, many, percent
from headatlas.wording.probe import first

NOUNS = {
    "acl": "clause of a noun", "advcl": "adverbial clause", "advmod": "adverb", "amod": "adjective",
    "appos": "apposition", "aux": "auxiliary", "case": "preposition or case marker", "cc": "conjunction",
    "ccomp": "clausal complement", "compound": "part of a compound", "conj": "conjunct", "cop": "copula",
    "csubj": "clausal subject", "det": "determiner", "discourse": "interjection", "expl": "expletive",
    "fixed": "part of a fixed expression", "flat": "part of a name", "iobj": "indirect object",
    "list": "item of a list", "mark": "subordinating word", "nmod": "nominal modifier", "nsubj": "subject",
    "nummod": "number", "obj": "object", "obl": "oblique nominal", "parataxis": "parataxis",
    "punct": "punctuation mark", "vocative": "vocative", "xcomp": "open complement",
}  # fmt: skip
ALL = "all"


class RelationScore(TypedDict):
    """The head that finds a relation best, scored on sentences it was not chosen on, beside the best fixed offset."""

    relation: str
    layer: int
    head: int
    direction: str
    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    baseline: float
    gain_low: float | None


def found_by(relation: str, direction: str) -> str:
    """What a head finds that follows a relation.

    >>> found_by("det", "up"), found_by("nsubj:pass", "down"), found_by("all", "up"), found_by("orphan", "down")
    ('the head of a determiner (det)', 'the subject of a word (nsubj:pass)', 'the head of any word', \
'the dependent of a word (orphan)')
    """
    if relation == ALL:
        return "the head of any word" if direction == "up" else "a dependent of any word"
    noun = NOUNS.get(relation.split(":")[0])
    if direction == "up":
        return f"the head of {_article(noun)} {noun} ({relation})" if noun else f"the head of a word ({relation})"
    return f"the {noun or 'dependent'} of a word ({relation})"


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def score(row: RelationScore) -> str:
    """How well the head does.

    >>> row = RelationScore(relation="nsubj", layer=4, head=7, direction="up", accuracy=0.71, accuracy_low=0.68,
    ...                     accuracy_high=0.74, baseline=0.49, gain_low=0.1)
    >>> score(row)
    '71% [68%, 74%], best offset 49%'
    """
    accuracy = interval(row["accuracy"], row["accuracy_low"], row["accuracy_high"], percent)
    return f"{accuracy}, best offset {percent(row['baseline'])}"


def has_head(row: RelationScore) -> bool:
    """Whether a relation has a head: it is better than the best offset, by the interval of the difference."""
    return row["gain_low"] is not None and row["gain_low"] > 0


def relations_line(rows: Sequence[RelationScore], sentences: int) -> str:
    """How many relations have a head.

    >>> row = RelationScore(relation="nsubj", layer=4, head=7, direction="up", accuracy=0.71, accuracy_low=0.68,
    ...                     accuracy_high=0.74, baseline=0.49, gain_low=0.1)
    >>> relations_line([row, row | {"relation": "det", "gain_low": -0.1}], 200)
    '1 of 2 relations has a head that is better than the best fixed offset, on 200 sentences; none was found for det'
    """
    ranked = [row for row in rows if row["relation"] != ALL]
    having = [row for row in ranked if has_head(row)]
    verb = "has" if len(having) == 1 else "have"
    text = f"{count(len(having))} of {many(len(ranked), 'relation')} {verb} a head that is better than the best"
    rest = [row["relation"] for row in ranked if not has_head(row)]
    none = f"; none was found for {first(rest, 5)}" if rest and having else ""
    return f"{text} fixed offset, on {many(sentences, 'sentence')}{none}"


def relation_line(row: RelationScore) -> str:
    """The head of a relation.

    >>> row = RelationScore(relation="nsubj", layer=4, head=7, direction="up", accuracy=0.71, accuracy_low=0.68,
    ...                     accuracy_high=0.74, baseline=0.49, gain_low=0.1)
    >>> relation_line(row)
    'L4·H7 finds the head of a subject (nsubj): 71% [68%, 74%], best offset 49%'
    >>> relation_line(row | {"relation": "all", "gain_low": -0.1})
    'L4·H7 finds the head of any word: 71% [68%, 74%], no better than the best offset, 49%'
    """
    finds = f"{head_name(row['layer'], row['head'])} finds {found_by(row['relation'], row['direction'])}"
    if has_head(row):
        return f"{finds}: {score(row)}"
    accuracy = interval(row["accuracy"], row["accuracy_low"], row["accuracy_high"], percent)
    return f"{finds}: {accuracy}, no better than the best offset, {percent(row['baseline'])}"


def finds_line(row: RelationScore) -> str:
    """A relation that a head finds best of all heads.

    >>> row = RelationScore(relation="det", layer=4, head=7, direction="up", accuracy=0.71, accuracy_low=0.68,
    ...                     accuracy_high=0.74, baseline=0.49, gain_low=0.1)
    >>> finds_line(row)
    'finds the head of a determiner (det), best of all heads: 71% [68%, 74%], best offset 49%'
    >>> finds_line(row | {"gain_low": -0.02})
    'finds the head of a determiner (det), best of all heads but no better than an offset: 71% [68%, 74%], best \
offset 49%'
    """
    but = "" if has_head(row) else " but no better than an offset"
    return f"finds {found_by(row['relation'], row['direction'])}, best of all heads{but}: {score(row)}"


class Accuracy(TypedDict):
    """The share of cases of a relation that a head finds."""

    relation: str
    direction: str
    accuracy: float


def also_line(rows: Sequence[Accuracy]) -> str:
    """Relations that a head finds better than the best offset, though another head finds them better still.

    >>> also_line([Accuracy(relation="det", direction="up", accuracy=0.6)])
    'also finds the head of a determiner (det), 60%: better than an offset, though another head is better still'
    """
    if not rows:
        return ""
    named = [f"{found_by(row['relation'], row['direction'])}, {percent(row['accuracy'])}" for row in rows]
    others = "another head is" if len(rows) == 1 else "other heads are"
    return f"also finds {'; '.join(named)}: better than an offset, though {others} better still"
