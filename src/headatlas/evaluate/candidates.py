"""Candidate answers of one window: the spans of tokens that a network scores best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import ModelError
from headatlas.models.answer_spans import character_span, no_answer_token
from headatlas.models.encode import Tokens
from headatlas.models.groups import Group
from headatlas.models.question_head import LogitPair

MOST = 20  # first tokens, last tokens and candidates of a window
LONGEST = 30  # tokens of an answer
PASSAGE = 1  # the segment of the passage


class Candidate(NamedTuple):
    """Characters of the passage, and their score: the sum of those of the first and the last token."""

    start: int
    stop: int
    score: float


@dataclass(frozen=True, slots=True)
class WindowScores:
    """What a network says about one window: the score of "no answer", and the best candidates, the best first."""

    no_answer: float
    candidates: list[Candidate]


def window_scores(tokens: Tokens, start: NDArray[Any], end: NDArray[Any], tokenizer: Any) -> WindowScores:
    """The scores of a window, from those of each token to be the first and the last of the answer (token,)."""
    start, end = start.astype(np.float64), end.astype(np.float64)
    if not np.isfinite(start.sum() + end.sum()):
        raise ModelError("the scores of its head are NaN or infinite: the weights are damaged or overflow")
    special = no_answer_token(tokens, tokenizer)
    pairs = best_pairs(start, end, answer_tokens(tokens))
    candidates = [Candidate(*character_span(tokens, first, last), float(score)) for first, last, score in pairs]
    return WindowScores(float(start[special] + end[special]), candidates)


def group_scores(group: Group, logits: LogitPair, tokenizer: Any) -> dict[int, WindowScores]:
    """The scores of each window of a batch, by its place."""
    start, end = (part.detach().float().cpu().numpy() for part in logits)  # (example, token)
    scores = {}
    for number, (place, encoded) in enumerate(zip(group.places, group.encoded, strict=True)):
        length = len(encoded.source)
        scores[place] = window_scores(encoded.source, start[number, :length], end[number, :length], tokenizer)
    return scores


def answer_tokens(tokens: Tokens) -> NDArray[np.bool_]:
    """The tokens that an answer can begin or end with: those of the passage that are not blank."""
    written = np.array([bool(text.strip()) for text in tokens.text], bool)
    inside: NDArray[np.bool_] = ~tokens.special & (tokens.segment == PASSAGE) & (tokens.stop > tokens.start) & written
    return inside


def best_pairs(start: NDArray[Any], end: NDArray[Any], allowed: NDArray[np.bool_]) -> list[tuple[int, int, float]]:
    """The best pairs of a first and a last token, of the best of each, with their scores.

    >>> allowed = np.array([False, True, True, True])
    >>> best_pairs(np.array([9.0, 1, 5, 2]), np.array([9.0, 7, 1, 3]), allowed)[:2]
    [(2, 3, 8.0), (1, 1, 8.0)]
    """
    places = np.flatnonzero(allowed)
    firsts, lasts = (places[np.argsort(-scores[places], kind="stable")[:MOST]] for scores in (start, end))
    length = lasts[None, :] - firsts[:, None] + 1  # (first, last)
    valid = np.argwhere((length >= 1) & (length <= LONGEST))
    scores = start[firsts[valid[:, 0]]] + end[lasts[valid[:, 1]]]
    order = np.argsort(-scores, kind="stable")[:MOST]
    return [(int(firsts[valid[i, 0]]), int(lasts[valid[i, 1]]), float(scores[i])) for i in order]
