"""Maps that show a cluster: the most typical ones, and those most unlike it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PER_HEAD = 2


def exemplars(distance: Array, example: Array, slot: Array, count: int) -> Array:
    """Indices of the `count` members with the smallest distance, spread over heads and examples, nearest first.

    At most two of a head, more where a cluster has too few heads, and one of an example, are taken from the nearer half
    of the members; the nearest of the others fill the remaining places. Ties go to the earlier example.
    """
    known = np.flatnonzero(np.isfinite(distance))
    order = known[np.lexsort((slot[known], example[known], distance[known]))]
    most = max(PER_HEAD, -(-count // max(1, len(np.unique(slot[known])))))
    chosen: list[int] = []
    heads: Counter[int] = Counter()
    examples: set[int] = set()
    for place in order[: max(count, len(order) // 2)].tolist():
        if len(chosen) == count:
            break
        if heads[int(slot[place])] < most and int(example[place]) not in examples:
            chosen.append(place)
            heads[int(slot[place])] += 1
            examples.add(int(example[place]))
    taken = set(chosen)
    chosen += [place for place in order[: 2 * count].tolist() if place not in taken][: count - len(chosen)]
    return np.array(sorted(chosen, key=lambda place: (distance[place], example[place], slot[place])), np.int64)


def unlike(distance: Array, example: Array, slot: Array, count: int) -> Array:
    """Indices of the members with the largest distance, chosen in the same way, farthest first."""
    return exemplars(-distance, example, slot, count)
