"""How far distance mirrors the product of a query and a key, and the scale at which it does best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.qk.transform import closed_form

Floats = NDArray[np.float64]

GRID = np.geomspace(0.2, 5, 41)
SIDE = 512  # queries, and keys, at most, whose pairs are correlated
ROUNDING = 1e-14  # of the mean square: variances below it are rounding errors
STRIDE = 4  # of queries, and of keys, whose median distance softens the weights while scales are compared
SOFT = 1e-3  # of the median squared distance: keeps a pair at the same place from outweighing all others


@dataclass(frozen=True)
class Pairs:
    """Products and norms of all pairs of some queries and keys: distances at any scale follow from them."""

    product: Floats  # (query, key)
    query: Floats  # squared norms, (query, 1)
    key: Floats  # squared norms, (key,)

    @classmethod
    def of(cls, query: NDArray[Any], key: NDArray[Any], seed: int) -> Pairs:
        """The pairs of a random sample of queries and keys; of all if there are few."""
        rng = np.random.default_rng(seed)
        queries, keys = (vectors[np.sort(rng.permutation(len(vectors))[:SIDE])] for vectors in (query, key))
        return cls.all(queries, keys)

    @classmethod
    def all(cls, query: NDArray[Any], key: NDArray[Any]) -> Pairs:
        """All pairs of queries and keys (token, feature)."""
        queries, keys = query.astype(np.float64), key.astype(np.float64)
        return cls(queries @ keys.T, (queries**2).sum(1)[:, None], (keys**2).sum(1))

    def every(self, stride: int) -> Pairs:
        """The pairs of every so many queries and keys."""
        return Pairs(self.product[::stride, ::stride], self.query[::stride], self.key[::stride])

    @cached_property
    def product_ranks(self) -> Floats:
        """Ranks of all products less their mean, (pair,)."""
        ranks = np.empty(self.product.size)
        order, rising = _ranks(self.product)
        ranks[order] = rising
        return ranks

    def squared_distances(self, scale: float) -> Floats:
        """Squared distances of queries / scale and keys · scale."""
        distances: Floats = self.query / scale**2 + self.key * scale**2 - 2 * self.product
        return np.maximum(distances, 0, out=distances)


@dataclass(frozen=True)
class Choice:
    """The chosen scale, and correlations of distances with products; −1 is a perfect mirror, NaN undefined."""

    scale: float
    correlation: float  # mean over queries of the weighted correlation, at this scale
    spearman: float  # over all pairs
    spearman_unscaled: float
    spearman_closed_form: float


def choose_scale(query: NDArray[Any], key: NDArray[Any], seed: int = 0) -> Choice:
    """The scale at which distances best mirror products, near pairs most.

    The weighted correlation over all pairs decides, among the scales whose rank correlation is at least as good as
    without scaling and as with the closed form. A mean over queries cannot decide: the smaller the scale, the better it
    is, since queries move away until the order of their distances to all keys is that of the products.

    Parameters
    ----------
    query, key : array (token, feature)
        Queries, and keys after translation.
    seed : int
        Determines which pairs are correlated.
    """
    pairs = Pairs.of(query, key, seed)
    closed = closed_form(query, key)
    unscaled_rank, closed_rank = (rank_correlation(pairs, scale) for scale in (1.0, closed))
    if not np.isfinite([unscaled_rank, closed_rank]).all():
        return Choice(1.0, np.nan, unscaled_rank, unscaled_rank, closed_rank)
    scales = np.unique(np.concatenate([GRID, [1.0, closed]]))
    weighted = np.array([weighted_correlation(pairs, scale) for scale in scales])
    ranks = {1.0: unscaled_rank, closed: closed_rank}
    for place in np.argsort(weighted, kind="stable"):
        scale = float(scales[place])
        rank = ranks[scale] if scale in ranks else rank_correlation(pairs, scale)
        if rank <= min(unscaled_rank, closed_rank):
            return Choice(scale, correlation_of_queries(pairs, scale), rank, unscaled_rank, closed_rank)
    raise AssertionError("the better of the two is among the scales")


def weighted_correlation(pairs: Pairs, scale: float) -> float:
    """Correlation of distances with products over all pairs, each weighted by 1 / distance²; NaN if one is constant."""
    from headatlas.stages.qk.sums import weighted_sums  # which imports numba

    typical = float(np.median(pairs.every(STRIDE).squared_distances(scale)))
    middle = np.sqrt(typical), float(pairs.product.mean())
    sums = weighted_sums(pairs.product, pairs.query, pairs.key, scale, SOFT * (typical or 1), *middle)
    distance, distances, product, products, both = np.array(sums[1:]) / sums[0]
    variances = distances - distance**2, products - product**2
    means = distance + middle[0], product + middle[1]
    if any(part <= ROUNDING * (part + mean**2) for part, mean in zip(variances, means, strict=True)):
        return float("nan")
    return float((both - distance * product) / np.sqrt(variances[0] * variances[1]))


def correlation_of_queries(pairs: Pairs, scale: float) -> float:
    """Mean over queries of the same correlation over the keys: whether nearer keys get more attention."""
    squared = pairs.squared_distances(scale)
    of_queries = _correlation(np.sqrt(squared), pairs.product, _weights(squared), axis=1)
    known = of_queries[np.isfinite(of_queries)]
    return float(known.mean()) if len(known) else float("nan")


def _weights(squared: Floats) -> Floats:
    weights: Floats = 1 / (squared + SOFT * (np.median(squared) or 1))
    return weights


def rank_correlation(pairs: Pairs, scale: float) -> float:
    """Spearman's rank correlation of distances with products over all pairs; NaN if one of them never varies."""
    order, ranks = _ranks(pairs.squared_distances(scale))
    size = np.sqrt((ranks @ ranks) * (pairs.product_ranks @ pairs.product_ranks))
    return float(ranks @ pairs.product_ranks[order] / size) if size > 0 else float("nan")


def _ranks(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The order of all values, and their ranks in this order, less the mean; equal values have equal ranks."""
    order = np.argsort(values, axis=None)
    rising = values.ravel()[order]
    starts = np.flatnonzero(np.concatenate([[True], rising[1:] != rising[:-1]]))
    counts = np.diff(starts, append=len(rising))
    return order, np.repeat(starts + (counts - len(rising)) / 2, counts)


def _correlation(first: Floats, second: Floats, weight: Floats, axis: int | None) -> Any:
    """Weighted correlation along an axis, or over everything; NaN where one of the two does not vary."""
    weight = weight / weight.sum(axis, keepdims=True)
    sizes = [(weight * values**2).sum(axis) for values in (first, second)]
    first, second = (values - (weight * values).sum(axis, keepdims=True) for values in (first, second))
    variances = [(weight * values**2).sum(axis) for values in (first, second)]
    varies = np.logical_and(*(part > ROUNDING * size for part, size in zip(variances, sizes, strict=True)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varies, (weight * first * second).sum(axis) / np.sqrt(variances[0] * variances[1]), np.nan)
