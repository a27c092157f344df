"""Parsers that learn nothing, or choose one thing: a fixed offset, or one head of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.probe.parsing.corpus import Maps, Sentence

Heads = NDArray[np.int64]

OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
DOWN, UP = 0, 1  # from the head in the tree to the dependent, and back


def at_offset(sentence: Sentence, offset: int) -> Heads:
    """The word at an offset as the head of each word; the root where there is none.

    >>> at_offset(Sentence(0, (), np.array([2, 0, 2]), np.ones(3, bool)), 1).tolist()
    [2, 3, 0]
    """
    heads = np.arange(1, sentence.words + 1) + offset
    return np.where((heads >= 1) & (heads <= sentence.words), heads, 0)


def best_offset(train: Sequence[Sentence]) -> int:
    """The offset that finds most heads."""
    counts = [sum(_found(each, at_offset(each, offset)[None])[0] for each in train) for offset in OFFSETS]
    return OFFSETS[int(np.argmax(counts))]


def strongest(sentence: Sentence, maps: Maps, head: int | None = None) -> NDArray[np.int64]:
    """Heads (direction, head of the model, word): the other word that each attends to most, or is attended by most."""
    chosen = slice(None) if head is None else slice(head, head + 1)
    words = maps(sentence)[1:, 1:, chosen].astype(np.float32)  # (query, key, head)
    words[np.arange(len(words)), np.arange(len(words))] = -1
    down, up = words.argmax(0), words.argmax(1)  # (dependent, head of the model)
    best = np.stack([down.T, up.T]) + 1
    return best if sentence.words > 1 else np.zeros_like(best)  # one word has no other


def best_head(train: Sequence[Sentence], maps: Maps, heads: int) -> tuple[int, int]:
    """The direction and the head of the model that find most heads."""
    counts = np.zeros((2, heads))
    for sentence in train:
        counts += _found(sentence, strongest(sentence, maps))
    direction, head = np.unravel_index(int(counts.argmax()), counts.shape)
    return int(direction), int(head)


def _found(sentence: Sentence, heads: NDArray[np.int64]) -> NDArray[Any]:
    """How many scored words have the right head, along the last axis."""
    right: NDArray[Any] = ((heads == sentence.head) & sentence.scored).sum(-1)
    return right
