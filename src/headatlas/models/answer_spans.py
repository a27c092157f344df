"""Where a span of characters lies among the tokens of a window, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from headatlas.models.encode import Tokens


def token_span(tokens: Tokens, start: int, stop: int, segment: int = 1) -> tuple[int, int] | None:
    """The first and last token of characters from `start` to before `stop` of a text; None if some are not in here.

    >>> none = np.zeros(4, np.int32)
    >>> at = np.array([[0, 0], [0, 4], [5, 7], [0, 0]], np.int32)
    >>> special = np.array([True, False, False, True])
    >>> tokens = Tokens(none, ["[SEP]", "ship", "of", "[SEP]"], none, special, np.ones(4, np.int8), at[:, 0], at[:, 1])
    >>> token_span(tokens, 1, 6), token_span(tokens, 5, 7), token_span(tokens, 5, 9)
    ((1, 2), (2, 2), None)
    """
    inside = ~tokens.special & (tokens.segment == segment)
    covered = np.flatnonzero(inside & (tokens.start < stop) & (tokens.stop > start))
    if start >= stop or not len(covered):
        return None
    first, last = int(covered[0]), int(covered[-1])
    complete = bool(tokens.start[first] <= start and tokens.stop[last] >= stop)
    return (first, last) if complete else None


def character_span(tokens: Tokens, first: int, last: int) -> tuple[int, int]:
    """The characters from the first to the last token, in the text that both are of."""
    return int(tokens.start[first]), int(tokens.stop[last])


def no_answer_token(tokens: Tokens, tokenizer: Any) -> int:
    """The token whose scores stand for "no answer": the one for the whole text ([CLS]), else the start, else the first.

    >>> from types import SimpleNamespace
    >>> none, ids = np.zeros(3, np.int32), np.array([7, 8, 2], np.int32)
    >>> tokens = Tokens(ids, ["a", "b", "<cls>"], none, none > 0, none.astype(np.int8), none, none)
    >>> no_answer_token(tokens, SimpleNamespace(cls_token_id=2)), no_answer_token(tokens, SimpleNamespace())
    (2, 0)
    """
    for name in ("cls_token_id", "bos_token_id"):
        places = np.flatnonzero(tokens.ids == getattr(tokenizer, name, None))
        if len(places):
            return int(places[0])
    return 0
