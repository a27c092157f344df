"""Tokens as they were written: a tokenizer may ignore case and accents, and offsets may be those of another text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from headatlas.data.pieces import plain
from headatlas.models.encode import Tokens

AHEAD = 40  # characters within which the next token must begin


def as_written(tokens: Tokens, texts: Sequence[str]) -> list[str]:
    """The characters of each token in the text of its segment; what is not found there is the token itself.

    Tokens are looked up in their order, since offsets of the sentences of a treebank are those of its words joined by
    spaces, while the text has the spaces of the source.

    >>> import numpy as np
    >>> word = np.arange(4, dtype=np.int32)
    >>> none = np.zeros(4, np.int32)
    >>> tokens = Tokens(none, ["new", "york", "##ers", "!"], word, none > 0, none, none, none)
    >>> as_written(tokens, ["New Yorkers!"])
    ['New', 'York', 'ers', '!']
    """
    places = [_start(tokens, number) for number in range(len(texts))]
    written = []
    for piece, segment, special in zip(tokens.text, tokens.segment, tokens.special, strict=True):
        span = None if special or segment >= len(texts) else _find(plain(piece), texts[segment], places[segment])
        if span is None:
            written.append(str(piece))
        else:
            written.append(texts[segment][span[0] : span[1]])
            places[segment] = span[1]
    return written


def word_forms(tokens: Tokens, texts: Sequence[str], words: int) -> list[str]:
    """The form of each word, its tokens joined; "…" where the model read none."""
    forms = [""] * words
    for word, special, piece in zip(tokens.word, tokens.special, as_written(tokens, texts), strict=True):
        if not special and 0 <= word < words:
            forms[word] += plain(piece)
    return [form or "…" for form in forms]


def _start(tokens: Tokens, segment: int) -> int:
    """Where the first token of a segment is, which is not the start of the text in a later window."""
    starts = [int(start) for start, of, special in zip(tokens.start, tokens.segment, tokens.special, strict=True)
              if of == segment and not special]  # fmt: skip
    return starts[0] if starts else 0


def _find(piece: str, text: str, start: int) -> tuple[int, int] | None:
    if not piece:
        return None
    window = text[start : start + AHEAD + len(piece)]
    for shown in (window, _without_accents(window)):
        match = re.search(re.escape(piece), shown, re.IGNORECASE)
        if match:
            return start + match.start(), start + match.end()
    return None


def _without_accents(text: str) -> str:
    """The same number of characters, each without its accent.

    >>> _without_accents("né à São")
    'ne a Sao'
    """
    return "".join(unicodedata.normalize("NFD", character)[0] for character in text)
