"""Choices among many candidates, made on one half of the texts and scored on the other; shares with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.metrics import interval

LEAST = 20  # cases; fewer are not ranked
DRAWS = 1000  # of the bootstrap over groups

Flags = NDArray[np.bool_]


def halves(groups: NDArray[Any], seed: int) -> tuple[NDArray[np.int64], Flags]:
    """The group of each case, numbered from 0, and for each group whether it is in the second half."""
    known, group = np.unique(groups, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(known))
    return group, order % 2 == 1


def cross_fitted(all_hits: Flags, second: Flags) -> tuple[Flags, list[int]]:
    """For each case whether it is found by the candidate that is best on the other half; and the two candidates.

    >>> all_hits = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], bool)
    >>> hits, choices = cross_fitted(all_hits, np.array([False, False, True, True]))
    >>> hits.tolist(), choices
    ([True, True, False, True], [0, 0])
    """
    choices = [int(all_hits[half].mean(0).argmax()) for half in (~second, second)]  # chosen on the first, on the second
    hits: Flags = np.where(second, all_hits[:, choices[0]], all_hits[:, choices[1]])
    return hits, choices


def shares(
    hits: Mapping[str, Flags], differences: Mapping[str, tuple[str, str]], group: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Shares of cases found, and differences of two shares, each with its interval by bootstrap over groups."""
    groups, place = np.unique(group, return_inverse=True)
    names = list(hits)
    sums = np.zeros((len(groups), 1 + len(names)))  # cases, then those found, by group
    np.add.at(sums, place, np.stack([np.ones(len(group)), *hits.values()], 1))
    rng = np.random.default_rng(seed)
    drawn = np.array([sums[rng.integers(0, len(groups), len(groups))].sum(0) for _ in range(DRAWS)])
    totals = np.concatenate([sums.sum(0)[None], drawn])
    by_name = {name: totals[:, place] / totals[:, 0] for place, name in enumerate(names, 1)}
    by_name |= {name: by_name[first] - by_name[other] for name, (first, other) in differences.items()}
    numbers: dict[str, float] = {}
    for name, values in by_name.items():
        low, high = interval(values[1:])
        numbers |= {name: float(values[0]), f"{name}_low": float(low), f"{name}_high": float(high)}
    return numbers


def unpacked_bits(rows: pa.ChunkedArray, count: int) -> Flags:
    """Rows of packed bits as (row, bit)."""
    packed = np.frombuffer(b"".join(rows.to_pylist()), np.uint8).reshape(len(rows), -(-count // 8))
    return np.unpackbits(packed, axis=1, count=count).astype(bool)
