"""Quality of a clustering: separation and compactness, stability under resampling, agreement with heads and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.sampling import Index
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.vectors import Floats

MAPS = 5000  # at most, for measures of all pairs
WHOLE = 30_000  # maps at most, in whole examples, for agreement
GROUPS = 10  # of examples, left out in turn
FIELDS = pa.schema(
    [
        ("measure", pa.string()),
        *((name, pa.float64()) for name in ("value", "low", "high")),
        ("maps", pa.int64()),
        ("pairs", pa.int32()),  # of bootstrap samples, for stability
    ]
)
Row = dict[str, Any]
SHAPES = ("silhouette", "davies_bouldin", "calinski_harabasz")


def _row(measure: str, value: float, interval: tuple[float, float], maps: int, pairs: int | None = None) -> Row:
    return {"measure": measure, "value": value, "low": interval[0], "high": interval[1], "maps": maps, "pairs": pairs}


def _interval(value: float, error: float, count: int) -> tuple[float, float]:
    from scipy.stats import t

    reach = float(t.ppf(0.975, count - 1)) * error
    return value - reach, value + reach


def jackknife(measure: Callable[[NDArray[np.bool_]], float], units: NDArray[Any], value: float) -> tuple[float, float]:
    """A 95 % jackknife interval of a measure: it is computed again without each tenth of the units (examples)."""
    _, number = np.unique(units, return_inverse=True)
    count = min(GROUPS, int(number.max()) + 1)
    if count < 3 or np.isnan(value):
        return np.nan, np.nan
    values = np.array([measure(number % count != group) for group in range(count)])
    error = float(np.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum()))
    return _interval(value, error, count)


def shape(x: Floats, labels: Labels, units: NDArray[Any] | None = None) -> list[Row]:
    """Silhouette, Davies–Bouldin and Calinski–Harabasz of maps that are not noise; NaN for fewer than two clusters."""
    from sklearn import metrics

    clustered = labels >= 0
    x, labels = x[clustered], labels[clustered]
    if len(np.unique(labels)) < 2 or len(np.unique(labels)) >= len(x):
        return [_row(name, np.nan, (np.nan, np.nan), len(x)) for name in SHAPES]
    silhouettes = metrics.silhouette_samples(x, labels)
    measures: dict[str, Callable[[NDArray[np.bool_]], float]] = {
        "silhouette": lambda mask: float(silhouettes[mask].mean()),
        "davies_bouldin": lambda mask: float(metrics.davies_bouldin_score(x[mask], labels[mask])),
        "calinski_harabasz": lambda mask: float(metrics.calinski_harabasz_score(x[mask], labels[mask])),
    }
    rows = []
    for name, measure in measures.items():
        value = measure(np.ones(len(x), bool))
        interval = (np.nan, np.nan) if units is None else jackknife(measure, units[clustered], value)
        rows.append(_row(name, value, interval, len(x)))
    return rows


def agreement(labels: Labels, index: Index, *, intervals: bool = True) -> list[Row]:
    """Adjusted mutual information of clusters with head, layer and example; noise counts as one more cluster."""
    from sklearn.metrics import adjusted_mutual_info_score as ami

    example, layer, head = index.T
    rows = []
    for name, other in (
        ("agreement_head", layer * (head.max() + 1) + head),
        ("agreement_layer", layer),
        ("agreement_example", example),
    ):

        def measure(mask: NDArray[np.bool_], other: NDArray[np.int64] = other) -> float:
            return float(ami(other[mask], labels[mask]))

        value = measure(np.ones(len(labels), bool))
        interval = jackknife(measure, example, value) if intervals else (np.nan, np.nan)
        rows.append(_row(name, value, interval, len(labels)))
    return rows


def whole_examples(labels: Labels, seed: int) -> tuple[Labels, Index]:
    """Labels and indices of all maps of some examples."""
    examples, layers, heads = labels.shape
    count = min(examples, max(2, WHOLE // (layers * heads)))
    drawn = np.sort(np.random.default_rng([seed, 5]).permutation(examples)[:count])
    part = labels[drawn]
    places = np.argwhere(part >= -1)
    drawn_labels = part[tuple(places.T)]
    places[:, 0] = drawn[places[:, 0]]
    return drawn_labels, places


def table(x: Floats, fitted: Labels, units: NDArray[Any], stable: Stability, labels: Labels, seed: int) -> pa.Table:
    """All measures: of a sample `x` with labels `fitted`, whose `units` are left out in turn, and of all labels."""
    total = int(np.count_nonzero(labels >= -1))
    noise = int(np.count_nonzero(labels == -1)) / total
    unknown = (np.nan, np.nan)
    pairs = len(stable.values)
    low, high = _interval(stable.mean, float(np.std(stable.values, ddof=1) / np.sqrt(pairs)), pairs)
    rows = [
        _row("clusters", float(labels.max() + 1), unknown, total),
        _row("noise", noise, unknown, total),
        *shape(x, fitted, units),
        _row("stability", stable.mean, (low, min(1.0, high)), len(stable.groups[0]), pairs),
        *agreement(*whole_examples(labels, seed)),
    ]
    return pa.Table.from_pylist(rows, FIELDS)
