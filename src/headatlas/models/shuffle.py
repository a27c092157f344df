"""The same tokens in random order: what a model shows on a text without its word order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headatlas.models.encode import Encoded, Tokens


def shuffled(encoded: Encoded, seed: int, example: int) -> Encoded:
    """An example with its tokens in random order, the same for the same seed and number of the example.

    Special tokens stay where they are. Each text of a pair, and a target, is shuffled by itself. A token keeps its
    word and its place in the original text.
    """
    source = _shuffled(encoded.source, [seed, example, 0])
    target = None if encoded.target is None else _shuffled(encoded.target, [seed, example, 1])
    return replace(encoded, source=source, target=target)


def _shuffled(tokens: Tokens, seeds: list[int]) -> Tokens:
    order = np.arange(len(tokens))
    for segment in np.unique(tokens.segment).tolist():
        places = np.flatnonzero(~tokens.special & (tokens.segment == segment))
        order[places] = np.random.default_rng([*seeds, segment]).permutation(places)
    return replace(
        tokens,
        ids=tokens.ids[order],
        text=[tokens.text[place] for place in order],
        word=tokens.word[order],
        start=tokens.start[order],
        stop=tokens.stop[order],
    )
