"""Samples of maps with equally many of every head. They depend only on their arguments, not on blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]  # one row per map: example, layer, head
Heads = NDArray[np.int64]  # one row per head: layer, head


def random_sample(
    examples: int, heads: Heads, size: int, seeds: Sequence[Sequence[int]], *, remainder: Sequence[int] | None = None
) -> Index:
    """Maps of different examples, drawn separately for each head, in order; a larger sample includes a smaller one.

    >>> random_sample(100, np.array([[0, 0], [0, 1]]), 4, [[7, 0], [7, 1]]).tolist()
    [[2, 0, 1], [42, 0, 0], [82, 0, 1], [88, 0, 0]]

    Parameters
    ----------
    examples : int
        Examples to draw from.
    heads : array (head, 2)
        Layer and head of each head.
    size : int
        Number of maps to draw, shared equally; all maps are drawn if there are no more.
    seeds : sequence of seeds
        One seed per head.
    remainder : seed, optional
        Determines which heads get one map more if `size` is not a multiple of the number of heads. If not given, none
        does, but every head gets at least one.

    Returns
    -------
    index : array (map, 3)
        Example, layer and head of each map.
    """
    per_head, rest = divmod(min(size, examples * len(heads)), max(1, len(heads)))
    counts = np.full(len(heads), max(1, per_head) if remainder is None else per_head)
    if remainder is not None:
        counts[np.random.default_rng(remainder).permutation(len(heads))[:rest]] += 1
    drawn = [
        np.arange(examples) if count == examples else np.random.default_rng(seed).permutation(examples)[:count]
        for count, seed in zip(counts.tolist(), seeds, strict=True)
    ]
    return _index(np.concatenate([np.zeros(0, np.int64), *drawn]), np.repeat(np.arange(len(heads)), counts), heads)


def systematic_sample(examples: int, heads: Heads, size: int, seed: int) -> Index:
    """About `size` maps, equally many of each head and at least one, on evenly spaced examples, in order.

    Unlike in `random_sample`, the examples of a head are not drawn, only where its steps begin. So the sample covers
    the whole dataset, but a larger sample does not include a smaller one.

    >>> systematic_sample(100, np.array([[0, 0], [0, 1]]), 4, seed=0).tolist()
    [[13, 0, 1], [31, 0, 0], [63, 0, 1], [81, 0, 0]]
    """
    per_head = min(examples, max(1, size // len(heads)))
    phase = np.random.default_rng(seed).random(len(heads))
    example = ((np.arange(per_head)[:, None] + phase) * (examples / per_head)).astype(np.int64).clip(max=examples - 1)
    return _index(example.ravel(), np.tile(np.arange(len(heads)), per_head), heads)


def _index(example: NDArray[np.int64], head: NDArray[np.int64], heads: Heads) -> Index:
    order = np.lexsort((head, example))
    return np.column_stack([example[order], heads[head[order]]])


def thin(index: Index, most: int, seed: int) -> NDArray[np.int64]:
    """Rows of at most `most` maps of a sample, spread evenly over heads, in order.

    >>> thin(np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]), 2, seed=0).tolist()
    [1, 2]
    """
    if len(index) <= most:
        return np.arange(len(index))
    key = np.random.default_rng([seed, len(index)]).random(len(index))
    head = index[:, 1] * (index[:, 2].max() + 1) + index[:, 2]
    counts = np.unique(head, return_counts=True)[1]
    turn = np.empty(len(index), np.int64)  # how many maps of the same head come before this one
    turn[np.lexsort((key, head))] = np.concatenate([np.arange(count) for count in counts])
    return np.sort(np.lexsort((key, turn))[:most])
