"""What the input changes: the share of the variance of each head's vectors that lies between the values of a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.numeric.chance import false_discovery_rates
from headatlas.numeric.metrics import interval
from headatlas.numeric.threads import single_thread
from headatlas.stages.correlate.design import Design
from headatlas.stages.correlate.variance import between
from headatlas.stages.correlate.vectors import Vectors, centered
from headatlas.wording.thresholds import GROUPS

Array = NDArray[Any]
Step = Callable[[int], None]
ENOUGH = 199  # shuffles from which on their moments can describe the tail


@dataclass(frozen=True)
class Share:
    """A share of variance that is explained: eta² less its chance value, with interval and p; NaN: unknown.

    `within_heads`: the share is one of the variance within heads, not of that of all maps.
    """

    eta2: float
    chance: float
    explained: float
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    within_heads: bool = False


@dataclass(frozen=True)
class Change:
    """One head and one column. `untested` says why there is no p: `few groups`, `one value`, `same maps`."""

    slot: int
    column: int
    share: Share
    n: int  # maps
    groups: int
    untested: str | None
    q: float = float("nan")


@dataclass(frozen=True)
class Variation:
    """Sums of squares of one head for one column: observed, of every shuffle, and of every bootstrap draw."""

    observed: float
    total: float
    n: int
    kinds: int  # values that occur
    shuffled: Array  # (shuffle,) between the values
    drawn: Array  # (draw, 2) between the values, total


def less_chance(eta2: Array | float, chance: Array | float, times: int = 1) -> Any:
    """Eta² less its chance value: 0 where it is that, 1 where it is 1.

    A bootstrap draw has the noise of the sample and that of drawing again, so its chance value is taken off two
    `times`.

    >>> less_chance(0.55, 0.1), less_chance(0.1, 0.1)
    (0.5, 0.0)
    """
    return 1 - (1 - eta2) / (1 - chance) ** times


def changes(vectors: Vectors, designs: Sequence[Design], step: Step) -> tuple[list[Change], list[Share]]:
    """Every head and column, and each column over all heads; heads are computed in threads, and added in order."""
    if not designs:
        return [], []
    sums = [Pooled() for _ in designs]
    rows: list[Change] = []
    waiting: dict[int, list[Variation]] = {}
    slots = range(len(vectors.values))
    with single_thread():
        for slot, variations in parallel.run(lambda slot: (slot, vary(vectors, slot, designs)), slots):
            waiting[slot] = variations
            while (place := len(rows) // len(designs)) in waiting:
                for column, variation in enumerate(waiting.pop(place)):
                    rows.append(change_of(place, column, variation, designs[column]))
                    sums[column].add(variation)
            step(1)
    pooled = [total.share(design) for total, design in zip(sums, designs, strict=True)]
    return _with_q(rows), pooled


def vary(vectors: Vectors, slot: int, designs: Sequence[Design]) -> list[Variation]:
    """The sums of squares of one head for every column."""
    all_known = vectors.known[slot]
    everywhere = centered(vectors.values[slot], all_known)
    variations = []
    for design in designs:
        x, known = everywhere, all_known
        if len(design.rows) < len(known):
            known = all_known[design.rows]
            x = centered(vectors.values[slot][design.rows], known)
        counts = np.bincount(design.codes[known], minlength=design.kinds)
        largest = int(counts.argmax())
        observed = between(x, known, design.codes[None], design.kinds, largest)
        shuffled = between(x, known, design.shuffled, design.kinds, largest)
        lengths = np.einsum("ij,ij->i", x, x, dtype=np.float64)
        sizes = (int(known.sum()), int((counts > 0).sum()))
        drawn = drawn_squares(x, lengths, known, design)
        variations.append(Variation(float(observed[0]), float(lengths.sum()), *sizes, shuffled, drawn))
    return variations


def drawn_squares(x: Array, lengths: Array, known: Array, design: Design) -> Array:
    """Sums of squares (draw, 2) between the values and in total, with each row counted as often as it was drawn."""
    between, total = np.zeros((2, len(design.weights)))
    mean, size = np.zeros((len(design.weights), x.shape[1])), np.zeros(len(design.weights))
    for code in range(design.kinds):
        rows = np.flatnonzero(known & (design.codes == code))
        weights = design.weights[:, rows]
        sums, count = (weights @ x[rows]).astype(np.float64), weights.sum(1, dtype=np.float64)
        between += np.einsum("ij,ij->i", sums, sums) / np.maximum(count, 1)
        total += weights @ lengths[rows]
        mean += sums
        size += count
    common = np.einsum("ij,ij->i", mean, mean) / np.maximum(size, 1)
    return np.stack([between - common, total - common], 1)


class Pooled:
    """The sums of squares of all heads for one column: how far it explains the variation within heads."""

    def __init__(self) -> None:
        self.sum: Variation | None = None

    def add(self, other: Variation) -> None:
        """Add a head."""
        if self.sum is None:
            self.sum = other
            return
        pooled = self.sum
        sizes = (max(pooled.n, other.n), max(pooled.kinds, other.kinds))
        both = (pooled.shuffled + other.shuffled, pooled.drawn + other.drawn)
        self.sum = Variation(pooled.observed + other.observed, pooled.total + other.total, *sizes, *both)

    def share(self, design: Design) -> Share:
        """The share of all heads together."""
        assert self.sum is not None  # there is at least one head
        return share_of(self.sum, design, within_heads=True)


def change_of(slot: int, column: int, variation: Variation, design: Design) -> Change:
    """What a column changes in a head, from sums of squares."""
    untested = None
    if variation.kinds < 2:
        untested = "one value"
    elif variation.total <= 0:
        untested = "same maps"
    elif design.groups < GROUPS:
        untested = "few groups"
    return Change(slot, column, share_of(variation, design), variation.n, design.groups, untested)


def share_of(variation: Variation, design: Design, *, within_heads: bool = False) -> Share:
    """Eta², its chance value, what remains, its interval, and p by shuffles of whole groups."""
    nothing = float("nan")
    if variation.total <= 0 or variation.kinds < 2:
        return Share(nothing, nothing, nothing, within_heads=within_heads)
    eta2, null = variation.observed / variation.total, variation.shuffled / variation.total
    chance = (variation.kinds - 1) / (variation.n - 1) if design.free else float(null.mean())
    if chance >= 1 - 1e-9:  # as many values as maps
        return Share(eta2, chance, nothing, within_heads=within_heads)
    low = high = p = nothing
    if design.groups >= GROUPS:
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = variation.drawn[:, 0] / variation.drawn[:, 1]
        low, high = (float(end) for end in interval(less_chance(drawn, chance, times=2)))
        p = p_value(eta2, null, design.arrangements)
    return Share(eta2, chance, float(less_chance(eta2, chance)), low, high, p, within_heads)


def p_value(observed: float, null: Array, arrangements: float) -> float:
    """How often shuffles reach the observed share.

    Where none of them does, the tail is that of the gamma distribution (Pearson type III) with the mean, variance and
    skewness of the shuffles, since no more than one in a thousand could be told otherwise among thousands of tests.
    It is not taken below one in `arrangements` (their logarithm), the number of different assignments there are.
    """
    reached = int((null >= observed - 1e-6).sum())
    p = (1 + reached) / (1 + len(null))
    spread = float(null.std())
    if reached or len(null) < ENOUGH or spread <= 0:
        return p
    z = (np.append(null, observed) - null.mean()) / spread
    return max(min(p, gamma_tail(float(z[-1]), float((z[:-1] ** 3).mean()))), min(p, math.exp(-arrangements)))


def gamma_tail(z: float, skewness: float) -> float:
    """The probability of more than z standard deviations above the mean, by Pearson's type III.

    >>> round(gamma_tail(2.0, 0.0), 5), round(gamma_tail(2.0, 1.0), 5)
    (0.02275, 0.04238)
    """
    from scipy.special import gammaincc, ndtr

    if skewness < 1e-3:
        return float(ndtr(-z))
    shape = 4 / skewness**2
    return float(gammaincc(shape, max(0.0, shape + z * np.sqrt(shape))))


def _with_q(rows: list[Change]) -> list[Change]:
    """Correct p over all heads and columns that were tested."""
    p = np.array([row.share.p if row.untested is None else np.nan for row in rows])
    return [
        Change(row.slot, row.column, row.share, row.n, row.groups, row.untested, float(value))
        for row, value in zip(rows, false_discovery_rates(p), strict=True)
    ]
