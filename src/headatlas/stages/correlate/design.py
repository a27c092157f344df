"""A column on the examples whose vectors are compared: its values, their shuffles and the draws of the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.correlate.dataset_columns import Column, Units, units
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.shuffle import permuted_values

Array = NDArray[Any]


@dataclass(frozen=True)
class Design:
    """What is compared with the vectors, and with what chance would make of it."""

    rows: Array  # (member,) rows of the vectors that have a value
    codes: Array  # (member,)
    kinds: int
    shuffled: Array  # (shuffle, member) codes
    weights: Array  # (draw, member) how often each was drawn
    groups: int
    free: bool  # every group has one example, so that all assignments of the values are equally likely
    arrangements: float  # logarithm of the number of different assignments


def design(column: Column, examples: Array, group: Array, permutations: int, seed: int, draws: Draws) -> Design:
    """The design of a column on some examples, each of a group, with shuffles and draws of whole groups."""
    codes = column.codes[examples]
    unit = units(codes, group)
    values = codes[unit.examples].astype(np.int16)
    grouping = (unit.members, unit.starts, unit.strata, unit.kept)
    weights = [weights[group[unit.examples]] for weights in draws]
    return Design(
        rows=unit.examples,
        codes=values,
        kinds=len(column.values),
        shuffled=permuted_values(values, *grouping, seed, np.arange(permutations)),
        weights=np.array(weights, np.float32).reshape(-1, len(values)),
        groups=len(unit.starts) - 1,
        free=bool((np.diff(unit.starts) == 1).all()),
        arrangements=log_arrangements(values, unit),
    )


def log_arrangements(values: Array, unit: Units) -> float:
    """The logarithm of the number of different ways to assign the values to groups."""
    from scipy.special import gammaln

    total = 0.0
    for first, last in zip(unit.strata[:-1], unit.strata[1:], strict=True):
        starts = unit.starts[first : last + 1]
        if unit.kept:  # groups of one size, whose examples keep their order
            group_values = values[unit.members[starts[0] : starts[-1]]].reshape(last - first, -1)
        else:
            group_values = values[unit.members[starts[:-1]]][:, None]
        same = np.unique(group_values, axis=0, return_counts=True)[1]
        total += float(gammaln(last - first + 1) - gammaln(same + 1).sum())
    return total
