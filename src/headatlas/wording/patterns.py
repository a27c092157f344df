"""What the maps of a cluster or node do, in a plain sentence, and what tells it from others of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from headatlas.wording.heads import head_name, layers
from headatlas.wording.numbers import amount, capitalize, count, join_list
from headatlas.wording.thresholds import SAME_MEAN

NO_COMPARISON = "there are no other maps to compare with"
UNCLEAR = "nothing sets these maps clearly apart; most telling: "
Kind = Literal["statistic", "strength", "heads", "layers", "texts", "examples", "lead", "map"]


class Head(TypedDict):
    """A head."""

    layer: int
    head: int


class Distinction(TypedDict):
    """What tells a cluster, or a node, from others with the same phrases.

    By `kind`: a `statistic` that is lower or `higher` than in all of them, or the `strength` of what gave the name: its
    mean (`value`) and the nearest of theirs (`others`); the `heads`, `layers` or `examples` with at least half of its
    maps; longer or shorter `texts`, by their mean length; the head with most of its maps (`lead`); or its first `map`.
    """

    kind: Kind
    statistic: str | None
    higher: bool | None
    value: float | None
    others: float | None
    heads: list[Head]
    layers: list[int]
    examples: list[int]


class Said(TypedDict):
    """What a statistic says about maps: a clause, what is measured (empty: attention), and its means."""

    says: str
    measure: str
    mean: float | None
    rest: float | None


def distinction_words(values: Distinction, comparative: str) -> str:
    """The end of a name; `comparative` are the words for its statistic, if it has one.

    >>> at = Distinction(kind="heads", statistic=None, higher=None, value=None, others=None,
    ...                  heads=[Head(layer=3, head=2)], layers=[], examples=[])
    >>> distinction_words(at, ""), distinction_words(at | {"kind": "statistic"}, "sharper")
    ('mostly L3·H2', 'sharper')
    >>> distinction_words(at | {"kind": "strength", "higher": False}, ""), distinction_words(at | {"kind": "texts"}, "")
    ('weakly', 'shorter texts')
    >>> distinction_words(at | {"kind": "map", "examples": [17]}, "")
    'as in L3·H2 on example 17'
    """
    heads, examples = _heads(values), _examples(values)
    words: dict[Kind, str] = {
        "statistic": comparative,
        "strength": "strongly" if values["higher"] else "weakly",
        "heads": f"mostly {heads}",
        "layers": layers(values["layers"]),
        "texts": f"{'longer' if values['higher'] else 'shorter'} texts",
        "lead": f"led by {heads}",
        "examples": f"mostly {examples}",
        "map": f"as in {heads} on {examples}",
    }
    return words[values["kind"]]


def _heads(values: Distinction) -> str:
    return join_list([head_name(**head) for head in values["heads"]])


def _examples(values: Distinction) -> str:
    numbers = [count(example) for example in values["examples"]]
    return f"example{'s' * (len(numbers) > 1)} {join_list(numbers)}"


def apart_line(values: Distinction, measure: str) -> str:
    """The same as the end of a sentence; `measure` is the statistic in words.

    >>> by = Distinction(kind="statistic", statistic="self", higher=True, value=0.24, others=0.05, heads=[], layers=[],
    ...                  examples=[])
    >>> apart_line(by, "attention to the token itself")
    'attention to the token itself is 0.24, in maps of the same name 0.050'
    >>> apart_line(by | {"kind": "layers", "layers": [4, 5]}, ""), apart_line(by | {"kind": "texts", "value": 83}, "")
    ('mostly in layers 4–5', 'on longer texts')
    """
    if values["kind"] in ("statistic", "strength"):
        return f"{measure} is {amount(values['value'])}, in maps of the same name {amount(values['others'])}"
    lines: dict[Kind, str] = {
        "heads": f"mostly in {_heads(values)}",
        "layers": f"mostly in {layers(values['layers'])}",
        "texts": f"on {distinction_words(values, '')}",
        "examples": f"mostly on {_examples(values)}",
        "lead": f"the largest part comes from {_heads(values)}",
        "map": distinction_words(values, ""),
    }
    return lines[values["kind"]]


def pattern_sentence(said: Sequence[Said], named: bool, apart: str) -> str:
    """What the maps of a cluster or node do; `apart` is what tells them from others of the same name.

    >>> previous = Said(says="each token attends to the one before it", measure="", mean=0.88, rest=0.03)
    >>> pattern_sentence([previous], True, "")
    'Each token attends to the one before it: 0.88 of the attention, in other maps 0.030.'
    >>> far = Said(says="attention goes to distant tokens", measure="relative distance", mean=0.42, rest=0.2)
    >>> pattern_sentence([far], True, "mostly in L3·H2")
    'Attention goes to distant tokens: relative distance 0.42, in other maps 0.20; mostly in L3·H2.'
    >>> pattern_sentence([far], False, ""), pattern_sentence([], False, "")
    ('Nothing sets these maps clearly apart; most telling: relative distance 0.42, in other maps 0.20.', \
'There are no other maps to compare with.')
    """
    clauses = [(f"{item['says']}: " if named else "") + _means(item) for item in said]
    text = ("" if named else UNCLEAR) + "; ".join(clauses) if clauses else NO_COMPARISON
    return capitalize("; ".join(filter(None, [text, apart]))) + "."


def _means(item: Said) -> str:
    """Both means; a part may have its name from the whole, though it differs little from all other maps.

    >>> _means(Said(says="attention rests on the first token", measure="", mean=0.38, rest=0.39))
    '0.38 of the attention, about as in other maps (0.39)'
    """
    mean, rest, measure = item["mean"], item["rest"], item["measure"]
    value = f"{measure} {amount(mean)}" if measure else f"{amount(mean)} of the attention"
    alike = mean is not None and rest is not None and abs(mean - rest) < SAME_MEAN * max(abs(mean), abs(rest))
    return f"{value}, about as in other maps ({amount(rest)})" if alike else f"{value}, in other maps {amount(rest)}"
