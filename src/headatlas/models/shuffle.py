"""The same tokens in another order: at random, or moved along."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headatlas.models.encode import Encoded, Tokens


def shuffled(encoded: Encoded, seed: int, example: int) -> Encoded:
    """An example with its tokens in random order, the same for the same seed and number of the example.

    Special tokens stay where they are. Each text of a pair, and a target, is shuffled by itself. A token keeps its
    word and its place in the original text.
    """
    source = _shuffled(encoded.source, [seed, example, 0])
    target = None if encoded.target is None else _shuffled(encoded.target, [seed, example, 1])
    return replace(encoded, source=source, target=target)


def shifted(encoded: Encoded, seed: int, example: int, draw: int) -> Encoded:
    """An example with its tokens moved along by a random number of places, those at the end to the front.

    Which tokens are neighbors, and how far apart equal tokens are, stays as it is, but where they meet the end. Special
    tokens stay where they are. Each text of a pair, and a target, is shifted by itself.
    """
    source = _shifted(encoded.source, [seed, example, draw, 0])
    target = None if encoded.target is None else _shifted(encoded.target, [seed, example, draw, 1])
    return replace(encoded, source=source, target=target)


def _shuffled(tokens: Tokens, seeds: list[int]) -> Tokens:
    order = np.arange(len(tokens))
    for segment, places in _texts(tokens):
        order[places] = np.random.default_rng([*seeds, segment]).permutation(places)
    return reordered(tokens, order)


def _shifted(tokens: Tokens, seeds: list[int]) -> Tokens:
    order = np.arange(len(tokens))
    for segment, places in _texts(tokens):
        order[places] = np.roll(places, np.random.default_rng([*seeds, segment]).integers(len(places)))
    return reordered(tokens, order)


def _texts(tokens: Tokens) -> list[tuple[int, NDArray[np.int64]]]:
    """The number of each text, and the places of its tokens that are not special."""
    inner = ~np.asarray(tokens.special, bool)
    segments = np.unique(tokens.segment[inner]).tolist()
    return [(segment, np.flatnonzero(inner & (tokens.segment == segment))) for segment in segments]


def reordered(tokens: Tokens, order: NDArray[np.int64]) -> Tokens:
    """Tokens in another order; which places are special, and the text of a place, stay. They have no spans any more."""
    return replace(
        tokens,
        ids=tokens.ids[order],
        text=[tokens.text[place] for place in order],
        word=tokens.word[order],
        start=tokens.start[order],
        stop=tokens.stop[order],
        span=None,
        turn=None,
    )
