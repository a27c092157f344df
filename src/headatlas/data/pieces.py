"""Pieces of text, as tokenizers cut them: what they are without marks, and which sentence they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

PUNCTUATION = frozenset(".,")  # full stops and commas
SENTENCE_ENDS, CLOSERS = frozenset(".!?"), frozenset("\"'”’»)]}")
REMEMBERED = 1 << 16  # pieces: a vocabulary has few more, and texts repeat a few of them


@lru_cache(maxsize=REMEMBERED)
def plain(piece: str) -> str:
    """A piece of text without the space before it and the mark of a continued word.

    >>> plain("##ing"), plain(" the")
    ('ing', 'the')
    """
    return piece.strip().removeprefix("##")


def sentences(pieces: Sequence[str], special: Iterable[bool], segment: Iterable[int]) -> NDArray[np.int64]:
    """The number of the sentence of each token; -1 for special tokens.

    A sentence ends with its segment, or with a token of `.`, `!` or `?`; more of these, and closing quotes and brackets
    that follow, are still part of it. The dot of an abbreviation or a number counts like any other.

    >>> pieces = ["[CLS]", "“", "go", "!", "”", "she", "left", ".", "[SEP]", "who", "?", "[SEP]"]
    >>> sentences(pieces, [piece[0] == "[" for piece in pieces], [0] * 9 + [1] * 3)
    array([-1,  0,  0,  0,  0,  1,  1,  1, -1,  2,  2, -1])
    """
    numbers = [-1] * len(pieces)
    number, ended, last = 0, False, None
    for place, (piece, outside, part) in enumerate(zip(pieces, special, segment, strict=True)):
        if outside:
            continue
        closes, ends = _closing(piece)
        starts = (ended and not closes) or last not in (None, part)
        number += starts
        ended = closes and (ends or (ended and not starts))
        numbers[place], last = number, part
    return np.array(numbers, np.int64)


@lru_cache(maxsize=REMEMBERED)
def _closing(piece: str) -> tuple[bool, bool]:
    """Whether a piece can close a sentence that has ended, and whether it can end one."""
    characters = {*plain(piece)}
    return characters <= SENTENCE_ENDS | CLOSERS, not characters.isdisjoint(SENTENCE_ENDS)
