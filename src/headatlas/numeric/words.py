"""Maps between words, from maps between the pieces of words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def word_maps(maps: NDArray[Any], word: NDArray[Any], words: int) -> Floats:
    """Maps (…, word, word) of maps (…, token, token): summed over the pieces of a key, averaged over those of a query.

    `word` is the word of each token, −1 for none: such tokens are left out, and nothing is renormalized. Words without
    a token have rows and columns of zeros.

    >>> maps = np.array([[0.2, 0.3, 0.5], [0.4, 0.0, 0.6], [0.0, 0.0, 1.0]])
    >>> word_maps(maps, np.array([0, 0, 1]), 2).round(6).tolist()  # the first word has two pieces
    [[0.45, 0.55], [0.0, 1.0]]
    """
    member = np.zeros((words, len(word)))  # (word, token)
    known = np.flatnonzero(word >= 0)
    member[word[known], known] = 1
    share = member / np.maximum(member.sum(1, keepdims=True), 1)
    result: Floats = share @ maps.astype(np.float64) @ member.T
    return result


def strongest(maps: Floats) -> NDArray[np.int64]:
    """The other word that each word attends to most, (…, word); −1 where it attends to no other word at all.

    >>> strongest(np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.0], [0.2, 0.3, 0.5]])).tolist()
    [1, -1, 1]
    """
    others = maps * (1 - np.eye(maps.shape[-1]))
    best = others.argmax(-1)
    return np.where(others.max(-1) > 0, best, -1)
