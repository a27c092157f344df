"""The best tree of a graph with directed edges: Chu–Liu/Edmonds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Heads = NDArray[np.int64]


def best_tree(scores: Floats) -> Heads:
    """The head of each node in the tree with the largest sum of scores, with one child of the root.

    `scores` is (head, dependent); node 0 is the root, whose head is −1.

    >>> best_tree(np.array([[0.0, 9.0, 8.0], [0.0, 0.0, 5.0], [0.0, 7.0, 0.0]])).tolist()
    [-1, 2, 0]
    """
    scores = np.array(scores, np.float64)
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    known = scores[np.isfinite(scores)]
    # A tree needs one edge from the root. Where each costs more than all others can gain, it has no second one.
    scores[0] -= (known.max() - known.min() + 1) * len(scores) if len(known) else 0
    heads = _best(scores)
    heads[0] = -1
    return heads


def _best(scores: Floats) -> Heads:
    """The heads of the best tree, any number of children of the root."""
    heads: Heads = scores.argmax(0)
    heads[0] = 0
    cycle = _cycle(heads)
    if cycle is None:
        return heads
    outside = np.setdiff1d(np.arange(len(scores)), cycle)  # the root stays first
    within = scores[heads[cycle], cycle]
    entering = scores[np.ix_(outside, cycle)] - within  # (outside, node of the cycle): what breaking it there costs
    leaving = scores[np.ix_(cycle, outside)]
    size = len(outside)
    smaller = np.full((size + 1, size + 1), -np.inf)  # the cycle is the last node
    smaller[:size, :size] = scores[np.ix_(outside, outside)]
    smaller[:size, size] = entering.max(1)
    smaller[size, :size] = leaving.max(0)
    chosen = _best(smaller)
    result = heads.copy()
    for place, node in enumerate(outside[1:], 1):
        inside = chosen[place] == size
        result[node] = cycle[leaving[:, place].argmax()] if inside else outside[chosen[place]]
    broken = cycle[entering[chosen[size]].argmax()]
    result[broken] = outside[chosen[size]]
    return result


def _cycle(heads: Heads) -> Heads | None:
    """The nodes of a cycle, if there is one; node 0 is in none."""
    state = np.zeros(len(heads), np.int64)  # 0 new, otherwise the walk that saw it first
    state[0] = -1
    for start in range(1, len(heads)):
        node = start
        while state[node] == 0:
            state[node] = start
            node = int(heads[node])
        if state[node] == start:
            return _around(heads, node)
    return None


def _around(heads: Heads, start: int) -> Heads:
    nodes = [start]
    while heads[nodes[-1]] != start:
        nodes.append(int(heads[nodes[-1]]))
    return np.array(nodes)


def is_tree(heads: Heads) -> bool:
    """Whether heads (word,), counted from 1 with 0 for the root, are a tree with one child of the root.

    >>> is_tree(np.array([2, 0, 2])), is_tree(np.array([2, 1])), is_tree(np.array([0, 0]))
    (True, False, False)
    """
    if not len(heads) or (heads < 0).any() or (heads > len(heads)).any() or (heads == 0).sum() != 1:
        return False
    return _cycle(np.concatenate([[0], heads])) is None
