"""Effect sizes and significance: association of a table, bounds of p-values, bootstrap weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy

Array = NDArray[Any]


def phi_squared(table: Array) -> Array:
    """Chi-square over n of tables (…, value, code); empty rows and columns are ignored."""
    total = table.sum((-2, -1), keepdims=True)
    expected = table.sum(-1, keepdims=True) * table.sum(-2, keepdims=True) / np.maximum(total, 1)
    terms = (table - expected) ** 2 / np.where(expected > 0, expected, 1)
    phi2: Array = terms.sum((-2, -1)) / np.maximum(total[..., 0, 0], 1)
    return phi2


def cramers_v(phi2: Array, n: int, rows: int, columns: int) -> Array:
    """Cramér's V from phi², corrected for its bias (Bergsma 2013); NaN for a table with one row or column."""
    if min(rows, columns) < 2 or n < 2:
        return np.full(np.shape(phi2), np.nan)
    phi2 = np.maximum(0, phi2 - (rows - 1) * (columns - 1) / (n - 1))
    smaller = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns)) - 1
    if smaller <= 0:
        return np.full(np.shape(phi2), np.nan)
    v: Array = np.sqrt(np.minimum(1, phi2 / smaller))
    return v


def table_v(table: Array) -> float:
    """Bias-corrected Cramér's V of one table."""
    rows, columns = int((table.sum(1) > 0).sum()), int((table.sum(0) > 0).sum())
    return float(cramers_v(phi_squared(table), int(table.sum()), rows, columns))


def adjusted_information(table: Array) -> float:
    """Adjusted mutual information of the two labelings of a table: 0 by chance, 1 the same."""
    from sklearn.metrics.cluster import expected_mutual_information

    table = table[table.sum(1) > 0][:, table.sum(0) > 0].astype(np.int64)
    n = int(table.sum())
    if min(table.shape) < 2:
        return float("nan")
    rows, columns, cells = (float(entropy(counts / n)) for counts in (table.sum(1), table.sum(0), table[table > 0]))
    mutual = rows + columns - cells
    expected = float(expected_mutual_information(table, n))
    span = (rows + columns) / 2 - expected
    return float((mutual - expected) / (span if abs(span) > 1e-15 else 1e-15))


def bound(observed: Array, mean: Array, trials: Array) -> Array:
    """A conservative p-value: Hoeffding's bound on how often a count is as far from its mean, in either direction.

    It holds for any sum of `trials` independent trials with unequal probabilities, and for draws without replacement.
    Where none of B shuffles reached the observed count, it still separates one in a thousand from one in a billion.
    """
    m, deviation = mean / trials, np.abs(observed - mean) / trials
    p: Array = np.minimum(1, _tail(m + deviation, m, trials) + _tail(m - deviation, m, trials))
    return p


def range_bound(deviation: Array, squared_range: Array) -> Array:
    """Hoeffding's bound for a sum of independent numbers, from the sum of their squared ranges: weaker, but general.

    >>> range_bound(np.array([3.0, 0.0]), np.array([4.0, 0.0])).round(4)
    array([0.0222, 1.    ])
    """
    p: Array = np.minimum(1, 2 * np.exp(-2 * deviation**2 / np.maximum(squared_range, 1e-12)))
    return p


def _tail(x: Array, m: Array, trials: Array) -> Array:
    """One tail of the bound; 0 below none and above all of the trials."""
    with np.errstate(divide="ignore", invalid="ignore"):
        clipped = np.clip(x, 0, 1)
        distance = np.where(clipped > 0, clipped * np.log(clipped / m), 0) + np.where(
            clipped < 1, (1 - clipped) * np.log((1 - clipped) / (1 - m)), 0
        )
        inside = (x >= -1e-12) & (x <= 1 + 1e-12)
        return np.where(inside, np.exp(-trials * np.nan_to_num(distance, posinf=np.inf)), 0.0)


# bootstrap over examples


@dataclass(frozen=True)
class Draws:
    """Weights of a bootstrap over groups of examples: how often each was drawn."""

    groups: int
    count: int
    seed: int

    def __iter__(self) -> Iterator[Array]:
        """Weights (group,), draw by draw."""
        for number in range(self.count):
            rng = np.random.default_rng([self.seed, number])
            yield np.bincount(rng.integers(0, self.groups, self.groups), minlength=self.groups)

    def batches(self, size: int = 50) -> Iterator[Array]:
        """The same, some draws at a time (draw, group)."""
        batch: list[Array] = []
        for weights in self:
            batch.append(weights)
            if len(batch) == size:
                yield np.array(batch, np.float64)
                batch = []
        if batch:
            yield np.array(batch, np.float64)
