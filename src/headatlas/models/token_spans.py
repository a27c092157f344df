"""Which span each token is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.data import Span

if TYPE_CHECKING:
    from headatlas.models.encode import Tokens


def with_spans(tokens: Tokens, spans: Sequence[Span]) -> Tokens:
    """Tokens with the name of the span that each is of, and the number of its turn in a chat.

    A token is of the span with which it shares most characters; special tokens are of none.

    >>> from headatlas.models.encode import Tokens
    >>> none = np.zeros(4, np.int32)
    >>> start, stop = np.array([0, 0, 4, 0], np.int32), np.array([0, 3, 9, 0], np.int32)
    >>> special = np.array([True, False, False, True])
    >>> tokens = Tokens(none, ["[CLS]", "the", "1990s", "[SEP]"], none, special, none.astype(np.int8), start, stop)
    >>> with_spans(tokens, [Span("date", 4, 8), Span("rest", 8, 9)]).span
    [None, None, 'date', None]
    """
    owner, most = np.full(len(tokens), -1), np.zeros(len(tokens), np.int64)
    for number, span in enumerate(spans):
        shared = _shared(tokens, span)
        owner, most = np.where(shared > most, number, owner), np.maximum(shared, most)
    names = [None if number < 0 else spans[number].name for number in owner]
    turns = np.array([-1 if span.turn is None else span.turn for span in spans] + [-1], np.int32)
    return replace(tokens, span=names, turn=turns[owner] if (turns >= 0).any() else None)


def lost_spans(texts: Sequence[Tokens], spans: Sequence[Span]) -> int:
    """How many spans have no token in any of the texts."""
    return sum(not any((_shared(tokens, span) > 0).any() for tokens in texts) for span in spans)


def _shared(tokens: Tokens, span: Span) -> NDArray[Any]:
    """Number of characters (token,) that tokens share with a span."""
    inside = ~np.asarray(tokens.special, bool) & (tokens.segment == int(span.pair))
    shared: NDArray[Any] = np.minimum(tokens.stop, span.stop) - np.maximum(tokens.start, span.start)
    return np.where(inside, shared, 0)
