"""Conditions on the token that attends and on the token that is attended to, for a search over heads."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.data.pieces import plain
from headatlas.errors import DataError, OptionError
from headatlas.models.encode import Tokens
from headatlas.options import either

Bits = NDArray[np.bool_]
Given = Mapping[str, Any]  # as it is written: a value, or several of which one must hold
Values = dict[str, tuple[str, ...]]

OF_WORDS = ("upos", "xpos", "lemma", "deprel")  # columns of a treebank, one value per word
RELATION, DIRECTION, OFFSET = OF_PAIRS = ("relation", "direction", "offset")
DIRECTIONS = ("down", "up")
POSITIONS = ("first", "last")


@dataclass(frozen=True)
class Text:
    """The tokens of a text, each as it was written, and the columns of a treebank for its words."""

    tokens: Tokens
    written: Sequence[str]  # the characters of each token, before the tokenizer changed them
    words: Mapping[str, Sequence[Any]]

    def of_tokens(self, column: str) -> list[str]:
        """The value of its word for each token; empty where there is none."""
        values = self.words.get(column, ())
        return [str(values[word] or "") if 0 <= word < len(values) else "" for word in self.tokens.word]


KINDS: dict[str, Callable[[str], bool]] = {
    "number": lambda text: any(map(str.isdigit, text)),
    "punctuation": lambda text: bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text),
    "capitalized": lambda text: text[:1].isupper(),
}
SPECIAL = "special"


def of_search(atlas: Atlas, source: Given, target: Given) -> tuple[Values, Values]:
    """The conditions of a search in an atlas, checked."""
    if atlas.header["data"]["modality"] == "image":
        raise DataError(f"{atlas.files.url}: heads are searched by tokens of texts, and this atlas has images")
    columns = atlas.table_columns("examples")
    return checked(source, False, columns, "source"), checked(target, True, columns, "target")


def parsed(texts: Iterable[str], flag: str) -> dict[str, list[str]]:
    """Conditions as they are typed; the same name several times: one of the values must hold.

    >>> parsed(["upos=VERB", "upos=AUX", "kind=number"], "--from")
    {'upos': ['VERB', 'AUX'], 'kind': ['number']}
    >>> parsed(["VERB"], "--from")
    Traceback (most recent call last):
    headatlas.errors.OptionError: --from VERB: give NAME=VALUE, such as upos=VERB
    """
    conditions: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise OptionError(f"{flag} {text}: give NAME=VALUE, such as upos=VERB")
        conditions.setdefault(name.strip(), []).append(value.strip())
    return conditions


def checked(given: Given, pairs: bool, columns: Iterable[str], label: str) -> Values:
    """Conditions with known names and values, all as text; `pairs`: those on both tokens are allowed.

    >>> checked({"upos": "VERB", "position": "first"}, False, ["upos"], "source")
    {'upos': ('VERB',), 'position': ('first',)}
    >>> checked({"relation": "obj"}, False, ["deprel"], "source")
    Traceback (most recent call last):
    headatlas.errors.OptionError: source relation: it says how the target is related to the source: give it for the \
target, or use deprel
    """
    values = {name: _texts(value) for name, value in given.items()}
    known = ("token", "kind", "position", *OF_WORDS, *OF_PAIRS)
    for name, wanted in values.items():
        if name not in known:
            raise OptionError(f"{label} {name}: choose {either(known)}")
        if name in OF_PAIRS and not pairs:
            hint = "give it for the target" + (", or use deprel" if name == RELATION else "")
            raise OptionError(f"{label} {name}: it says how the target is related to the source: {hint}")
        if name in (*OF_WORDS, RELATION) and {name, "deprel"}.isdisjoint(columns):
            raise OptionError(f"{label} {name}: this dataset is no treebank. Collect one with conllu:FILE.conllu")
        _check_values(name, wanted, label)
    return values


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple | set) else (str(value),)


def _check_values(name: str, wanted: tuple[str, ...], label: str) -> None:
    choices = {"kind": (*KINDS, SPECIAL), "position": POSITIONS, DIRECTION: DIRECTIONS}.get(name)
    for value in wanted:
        if choices is not None and value not in choices:
            raise OptionError(f"{label} {name} {value!r}: choose {either(choices)}")
        if name == OFFSET and not value.lstrip("+-").isdigit():
            raise OptionError(f"{label} offset {value!r}: give a whole number, such as -1 for the token before")


def matching(text: Text, conditions: Values) -> Bits:
    """The tokens that meet every condition on one token. Special tokens match only if they are asked for."""
    bits: Bits = np.ones(len(text.tokens), bool)
    special = np.asarray(text.tokens.special, bool)
    if SPECIAL not in conditions.get("kind", ()) and "token" not in conditions:
        bits &= ~special
    for name, values in conditions.items():
        if name not in OF_PAIRS:
            bits &= _meets(text, name, values, special)
    return bits


def _meets(text: Text, name: str, values: tuple[str, ...], special: Bits) -> Bits:
    if name == "kind":
        of_kinds = [KINDS[kind] for kind in values if kind != SPECIAL]
        ordinary = np.array([any(kind(piece) for kind in of_kinds) for piece in text.written], bool) & ~special
        return ordinary | (special & (SPECIAL in values))
    if name == "token":
        wanted = {value.casefold() for value in values}
        shown = zip(text.tokens.text, text.written, strict=True)
        return np.array([bool(wanted & {piece.casefold(), plain(piece).casefold(), written.casefold()})
                         for piece, written in shown], bool)  # fmt: skip
    if name == "position":
        inner = np.flatnonzero(~special)
        places = {"first": inner[:1], "last": inner[-1:]}
        return np.isin(np.arange(len(special)), np.concatenate([places[value] for value in values]))
    return np.isin(np.array(text.of_tokens(name), object).astype(str), values)


def paired(source: Text, target: Text, conditions: Values, same: bool) -> Bits:
    """The pairs (query, key) that meet the conditions on both; `same`: both are tokens of one text."""
    bits: Bits = np.ones((len(source.tokens), len(target.tokens)), bool)
    if OFFSET in conditions:
        between = np.arange(bits.shape[1]) - np.arange(bits.shape[0])[:, None]
        bits &= np.isin(between, [int(value) for value in conditions[OFFSET]]) & same
    if RELATION in conditions:
        down = related(target, conditions[RELATION])  # (dependent, head)
        up = conditions.get(DIRECTION, DIRECTIONS[:1])
        bits &= (down.T if "down" in up else False) | (down if "up" in up else False)
        bits &= same
    return bits


def related(text: Text, relations: tuple[str, ...]) -> Bits:
    """Pairs of tokens (dependent, head) whose words are so related in the tree.

    >>> tokens = Tokens(np.zeros(3, int), ["a", "b", "c"], np.arange(3), np.zeros(3, bool), *(np.zeros(3, int),) * 3)
    >>> related(Text(tokens, tokens.text, {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}), ("obj",)).nonzero()
    (array([2]), array([1]))
    """
    heads, labels = text.words.get("head", ()), text.words.get("deprel", ())
    word = np.asarray(text.tokens.word)
    above = np.full(len(word), -2)
    for token, number in enumerate(word):
        if 0 <= number < len(heads) and labels[number] in relations and heads[number]:
            above[token] = heads[number] - 1
    pairs: Bits = above[:, None] == word
    return pairs
