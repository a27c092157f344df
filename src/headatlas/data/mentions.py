"""Mentions of people and things in a text, in chains: those of one chain mean the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headatlas.data.pronouns import PRONOUNS

__all__ = [
    "KINDS",
    "MENTION_COLUMNS",
    "Mention",
    "columns",
    "head_by_tree",
    "head_by_words",
    "kind_by_tag",
    "kind_by_words",
]

PRONOUN, PROPER, NOMINAL = KINDS = ("pronoun", "proper", "nominal")
MENTION_COLUMNS = tuple(f"mention_{name}" for name in ("start", "stop", "head", "chain", "kind", "word", "text"))

# What follows one of these inside a mention describes its head word, or is joined to it.
_AFTER_HEAD = """
, ; : ( -- — – and or but nor who whom whose which that where when of in on at from with without for by to as about over
under upon between among into near behind after before against through within like during toward towards around above
below than including
"""
AFTER_HEAD = frozenset(_AFTER_HEAD.split())
POSSESSIVE = frozenset(["'s", "’s", "'", "’"])
# Penn Treebank and Universal Dependencies; other tags are nominal.
TAGGED = dict.fromkeys(["PRP", "PRP$", "WP", "WP$", "PRON"], PRONOUN) | dict.fromkeys(["NNP", "NNPS", "PROPN"], PROPER)


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """Words from `start` to before `stop`, counted from 0 in the example."""

    start: int
    stop: int
    head: int  # number of the word that stands for the mention, in the example
    chain: str
    kind: str


def columns(mentions: Iterable[Mention], words: Sequence[str]) -> dict[str, object]:
    """The mentions of an example as its columns: lists with one value per mention, in the order of the text.

    >>> columns([Mention(0, 2, 1, "7", "nominal")], ["the", "cat", "sat"])  # doctest: +NORMALIZE_WHITESPACE
    {'mention_start': [0], 'mention_stop': [2], 'mention_head': [1], 'mention_chain': ['7'],
     'mention_kind': ['nominal'], 'mention_word': ['cat'], 'mention_text': ['the cat']}
    """
    rows = [
        (
            each.start,
            each.stop,
            each.head,
            each.chain,
            each.kind,
            words[each.head],
            " ".join(words[each.start : each.stop]),
        )
        for each in sorted(mentions)
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(MENTION_COLUMNS)}


def head_by_words(words: Sequence[str]) -> int:
    """The place of the head word, without a tree: the last one before the first preposition, comma, relative or "and".

    The first word does not count as one of these, and a possessive 's at the end is left out.

    >>> [head_by_words(text.split()) for text in ("the Lord Chancellor", "the face of the earth", "his aunt 's")]
    [2, 1, 1]
    """
    ends = (place for place, word in enumerate(words) if place and word.casefold() in AFTER_HEAD)
    last = next(ends, len(words)) - 1
    return last - 1 if last and words[last] in POSSESSIVE else last


def kind_by_tag(tag: str) -> str:
    """The kind of a mention by the part of speech of its head word."""
    return TAGGED.get(tag, NOMINAL)


def kind_by_words(words: Sequence[str], head: int) -> str:
    """The kind without parts of speech: a single word of the list of pronouns; proper if the head word is capitalized.

    >>> [kind_by_words(text.split(), 0) for text in ("She", "London", "houses")]
    ['pronoun', 'proper', 'nominal']
    """
    if len(words) == 1 and words[0].casefold() in PRONOUNS:
        return PRONOUN
    return PROPER if words[head][:1].isupper() else NOMINAL


def head_by_tree(start: int, stop: int, above: Sequence[int]) -> int:
    """The head word by a dependency tree: the word whose head is outside the mention; of several, the highest one.

    `above` is the head of each word, -1 for a root.

    >>> head_by_tree(0, 4, [1, -1, 3, 1])
    1
    """
    outside = [word for word in range(start, stop) if not start <= above[word] < stop]
    return min(outside, key=lambda word: _depth(word, above), default=stop - 1)


def _depth(word: int, above: Sequence[int]) -> int:
    """Steps to the root; a circle, which is no tree, ends after as many steps as there are words."""
    for steps in range(len(above)):
        if not 0 <= word < len(above):
            return steps
        word = above[word]
    return len(above)
