"""Scores of encoders: input sensitivity against a control, readability, function across models, known patterns.

Vectors are arrays (text, head, feature). None of the scores uses which head a map is from, except head retrieval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, kruskal
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from headatlas.stages.cluster.methods.tree import Tree
from headatlas.stages.cluster.vectors import fit_space
from headatlas.statistics import COMBINED

Array = NDArray[Any]
DRAWS = 400


@dataclass(frozen=True)
class Score:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_score(values: Array, seed: int = 0) -> Score:
    """Mean over the first axis, with a bootstrap interval.

    >>> score = mean_score(np.array([1.0, 1.0, 1.0]))
    >>> score.value, score.low
    (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    draws = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(DRAWS)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high))


def nearest(vectors: Array, kinds: Array) -> Score:
    """Share of maps whose nearest map of the same head on another text is of the same kind; interval over texts."""
    correct = np.empty(vectors.shape[:2])
    for head in range(vectors.shape[1]):
        points = vectors[:, head].astype(np.float64)
        squares = (points**2).sum(1)
        distances = squares[:, None] + squares[None] - 2 * points @ points.T
        np.fill_diagonal(distances, np.inf)
        correct[:, head] = kinds[distances.argmin(1)] == kinds
    return mean_score(correct.mean(1))


@dataclass(frozen=True)
class Sensitivity:
    """Agreement (AMI) of cluster and kind of text within a head: in real and in control heads, and the difference."""

    real: Score
    control: Score
    margin: Score


Labeler = Callable[[Array, Array], list[tuple[Array, Array]]]  # points of real and control heads to pairs of labels


def sensitivity(vectors: Array, control: Array, kinds: Array, heads: Array, label: Labeler) -> Sensitivity:
    """Cluster all real maps, give the maps of control heads the nearest cluster, and compare with the kinds.

    Results are means over the clusterings that `label` gives, and over the chosen `heads`; intervals are over heads.
    """
    texts, count, width = vectors.shape
    flat = vectors.reshape(-1, width).astype(np.float32)
    space = fit_space(flat)
    points, others = space.apply(flat), space.apply(control.reshape(-1, width).astype(np.float32))
    real, fixed = [], []
    for labels, control_labels in label(points, others.astype(points.dtype)):
        real.append(agreement(labels.reshape(texts, count), kinds))
        fixed.append(agreement(control_labels.reshape(texts, -1), kinds))
    of_heads, of_control = np.mean(real, 0)[heads], np.mean(fixed, 0)
    return Sensitivity(mean_score(of_heads), mean_score(of_control), mean_score(of_heads - of_control.mean()))


def by_kmeans(k: int, starts: Sequence[int] = (0, 1, 2)) -> Labeler:
    """KMeans with k clusters, from several starts."""

    def label(points: Array, others: Array) -> list[tuple[Array, Array]]:
        fits = [KMeans(k, n_init=3, random_state=start).fit(points) for start in starts]
        return [(fit.labels_, fit.predict(others)) for fit in fits]

    return label


def by_tree(units: Array) -> Labeler:
    """The default cut of the tree; `units` is the text of each map."""

    def label(points: Array, others: Array) -> list[tuple[Array, Array]]:
        small = np.random.default_rng(0).permutation(len(points))[:6000]
        method = Tree().settle(points, points[small], 0, bar=False, units=units[small])[0]
        fit, labels = method.fit(points, 0)
        return [(labels, fit.assign(others))]

    return label


def differing(stats: Array, kinds: Array, q: float = 0.01) -> Array:
    """Heads of which some statistic differs between kinds of texts (Kruskal-Wallis, Benjamini-Hochberg)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = [stats[kinds == kind] for kind in np.unique(kinds)]
        p = np.nan_to_num(kruskal(*groups, axis=0, nan_policy="omit").pvalue, nan=1.0)  # (head, statistic)
    corrected = false_discovery_control(p.ravel()).reshape(p.shape)
    return np.asarray((corrected < q).any(1))


def agreement(labels: Array, kinds: Array) -> Array:
    """Adjusted mutual information of cluster and kind over the texts, for each head.

    >>> agreement(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array(["a", "a", "b", "b"])).round(2).tolist()
    [1.0, -0.5]
    """
    return np.array([adjusted_mutual_info_score(kinds, labels[:, head]) for head in range(labels.shape[1])])


def readability(vectors: Array, stats: Array, names: Sequence[str], seed: int = 0) -> dict[str, float]:
    """R² of ridge regression from vectors to each statistic: trained on half of the texts, scored on the other half."""
    half = np.random.default_rng(seed).permutation(len(vectors)) < len(vectors) // 2
    train, test = (vectors[part].reshape(-1, vectors.shape[-1]).astype(np.float64) for part in (half, ~half))
    mean, deviation = train.mean(0), train.std(0) + 1e-9
    scores = {}
    for number, name in enumerate(names):
        wanted, held = stats[half, :, number].ravel(), stats[~half, :, number].ravel()
        known, known_held = np.isfinite(wanted), np.isfinite(held)
        if known.sum() < 50 or np.ptp(wanted[known]) < 1e-9:
            continue
        model = Ridge(1.0).fit(((train - mean) / deviation)[known], wanted[known])
        scores[name] = float(model.score(((test - mean) / deviation)[known_held], held[known_held]))
    return scores


def roles(stats: Array, names: Sequence[str], kinds: Array) -> Array:
    """A name for what each head does, from its mean statistics on plain texts; empty where none is clear.

    Induction and the same word are judged on repeated words, where every word has another occurrence. (On the texts of
    one word, every token is the same word.)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statistics that a model does not have are NaN everywhere
        plain, repeated = (np.nan_to_num(np.nanmean(stats[kinds == kind], 0)) for kind in ("plain", "repeated"))
    column = {name: plain[:, number] for number, name in enumerate(names)}
    twice = {name: repeated[:, number] for number, name in enumerate(names)}
    limits = [
        ("previous", column["previous"] > 0.4),
        ("next", column["next"] > 0.4),
        ("self", column["self"] > 0.4),
        ("induction", twice["induction"] > 0.3),
        ("same", twice["same_token"] > 0.2),
        ("first", column["first"] > 0.6),
        ("local", sum(column[name] for name in COMBINED["around"].plus) > 0.6),
    ]
    labels = np.full(len(plain), "", dtype="<U12")
    for name, holds in reversed(limits):
        labels[holds] = name
    return labels


def across_models(vectors: Mapping[str, Array], labels: Mapping[str, Array]) -> tuple[Score, dict[str, float]]:
    """Mean average precision of finding heads of other models that do the same, by cosine of mean vectors; by role."""
    centers = np.concatenate([of_model.mean(0) for of_model in vectors.values()]).astype(np.float64)
    centers -= centers.mean(0)
    centers /= np.linalg.norm(centers, axis=1, keepdims=True) + 1e-12
    role = np.concatenate([labels[name] for name in vectors])
    model = np.concatenate([np.full(of_model.shape[1], number) for number, of_model in enumerate(vectors.values())])
    precisions: dict[str, list[float]] = {}
    for head in np.flatnonzero(role != ""):
        others = model != model[head]
        same = (role[others] == role[head])[np.argsort(-(centers[others] @ centers[head]), kind="stable")]
        if same.any():
            precision = (np.cumsum(same) / np.arange(1, len(same) + 1))[same].mean()
            precisions.setdefault(str(role[head]), []).append(float(precision))
    by_role = {name: float(np.mean(values)) for name, values in precisions.items()}
    return mean_score(np.concatenate([np.array(values) for values in precisions.values()])), by_role


def rand_index(vectors: Array, labels: Array) -> float:
    """Adjusted Rand index of KMeans with as many clusters as there are patterns."""
    points = fit_space(vectors.astype(np.float32)).apply(vectors.astype(np.float32))
    clusters = KMeans(len(np.unique(labels)), n_init=10, random_state=0).fit_predict(points)
    return float(adjusted_rand_score(labels, clusters))
