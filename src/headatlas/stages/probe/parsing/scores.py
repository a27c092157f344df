"""How much of the trees a parser finds, with intervals over documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import interval
from headatlas.stages.probe.parsing.corpus import Sentence

Floats = NDArray[np.float64]
Heads = NDArray[np.int64]

DRAWS = 1000  # of the bootstrap
COUNTS = ("words", "found", "all_words", "all_found", "edges", "edges_found")


def counted(sentence: Sentence, heads: Heads) -> list[int]:
    """What `COUNTS` names, for one sentence and the heads (word,) that a parser gave it.

    >>> sentence = Sentence(0, (), np.array([2, 0, 2, 2]), np.array([True, True, True, False]))
    >>> counted(sentence, np.array([2, 1, 4, 2]))  # the edge of words 1 and 2, given twice, counts once
    [3, 1, 4, 2, 2, 1]
    """
    right, scored = heads == sentence.head, sentence.scored
    linked = scored & (sentence.head > 0)
    backwards = np.concatenate([[0], heads])[sentence.head] == np.arange(1, sentence.words + 1)
    hits = (right | backwards) & linked
    return [int(each.sum()) for each in (scored, right & scored, right | True, right, linked, hits)]


def count(sentences: Sequence[Sentence], heads: Sequence[Heads]) -> Floats:
    """Counts (sentence, count)."""
    return np.array([counted(*pair) for pair in zip(sentences, heads, strict=True)], np.float64)


def scores(counts: Floats, groups: NDArray[Any], seed: int) -> dict[str, float | None]:
    """Attachment scores, directed and not, with intervals by bootstrap over groups of sentences."""
    place = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((int(place.max()) + 1, counts.shape[1]))
    np.add.at(sums, place, counts)
    size = len(sums)
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), DRAWS) @ sums  # (draw, count)
    result: dict[str, float | None] = {}
    for name, hits, of in (("uas", 1, 0), ("uuas", 5, 4)):
        low, high = interval(_shares(drawn, hits, of)) if size > 1 else (np.nan, np.nan)
        value = _shares(sums.sum(0)[None], hits, of)[0]
        numbers = {name: value, f"{name}_low": low, f"{name}_high": high}
        result |= {key: None if np.isnan(number) else float(number) for key, number in numbers.items()}
    return result | {"uas_punctuation": float(sums[:, 3].sum() / sums[:, 2].sum())}


def attachment(counts: Floats) -> float:
    """The share of scored words whose head is right."""
    return float(_shares(counts.sum(0)[None], 1, 0)[0])


def _shares(counts: Floats, hits: int, of: int) -> Floats:
    shares: Floats = np.full(len(counts), np.nan)
    return np.divide(counts[:, hits], counts[:, of], out=shares, where=counts[:, of] > 0)
