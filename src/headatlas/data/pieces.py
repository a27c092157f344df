"""Pieces of text, as tokenizers cut them: what they are without marks, and which sentence they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PUNCTUATION = frozenset(".,")  # full stops and commas
SENTENCE_ENDS, CLOSERS = frozenset(".!?"), frozenset("\"'”’»)]}")


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
    numbers = np.full(len(pieces), -1, np.int64)
    number, ended, last = 0, False, None
    for place, (piece, outside, part) in enumerate(zip(pieces, special, segment, strict=True)):
        if outside:
            continue
        characters = {*plain(piece)}
        closes = characters <= SENTENCE_ENDS | CLOSERS
        starts = (ended and not closes) or last not in (None, part)
        number += starts
        ended = closes and (not characters.isdisjoint(SENTENCE_ENDS) or (ended and not starts))
        numbers[place], last = number, part
    return numbers
