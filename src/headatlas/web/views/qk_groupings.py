"""What the queries and keys of a head are grouped by: the columns in which near points are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.web.api.payloads.qk import Grouping
from headatlas.web.views import qk
from headatlas.web.views.snapshot import Snapshot
from headatlas.wording.thresholds import GROUPED

POINTS = 1_500  # compared, at most
NEIGHBORS = 10
ROLE, TOKEN = "role", "token"
OF_THE_TOKEN = ("token_length", "frequency", "punctuation", "special")  # equal tokens are equal in these

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def groupings(snapshot: Snapshot, embedding: str, vectors: Floats, drawn: Ints) -> list[Grouping]:
    """How alike near points (point, feature) are in every column, the strongest first.

    Where near points are the same token, they are alike in everything that follows from the token: these columns then
    come after it.
    """
    chosen = np.sort(np.random.default_rng(0).permutation(len(drawn))[:POINTS])
    near = nearest(vectors[chosen])
    strengths = {
        name: (label, strength(values, numeric, near))
        for name, label, values, numeric in _columns(snapshot, embedding, drawn[chosen])
    }
    by_token = strengths.get(TOKEN, ("", 0.0))[1]

    def rank(name: str) -> float:
        value = strengths[name][1]
        return min(value, by_token - 1e-9) if name in OF_THE_TOKEN and by_token >= GROUPED else value

    return [
        Grouping(column=name, label=strengths[name][0], strength=round(strengths[name][1], 4))
        for name in sorted(strengths, key=rank, reverse=True)
    ]


def _columns(snapshot: Snapshot, embedding: str, points: Ints) -> list[tuple[str, str, NDArray[Any], bool]]:
    """Name, label and values of each column for some points, and whether it is numeric."""
    table = qk.points(snapshot, embedding)
    tokens = points % table.num_rows
    columns: list[tuple[str, str, NDArray[Any], bool]] = [
        (ROLE, "query or key", (points >= table.num_rows).astype(np.int64), False)
    ]
    if snapshot.atlas.header["data"]["modality"] == "text":
        columns.append((TOKEN, "token", _texts(snapshot, embedding)[tokens], False))
    for name, column in qk.catalog(snapshot, embedding).items():
        values = np.asarray(column.coloring.values)[tokens]
        columns.append((name, column.card.label, values, column.card.kind == "number"))
    return columns


def _texts(snapshot: Snapshot, embedding: str) -> Ints:
    """A number for each token, the same for equal ones."""

    def read() -> Ints:
        rows = qk.token_rows(snapshot, qk.points(snapshot, embedding)["token"].to_numpy())
        coded: pa.DictionaryArray = rows["text"].combine_chunks().dictionary_encode()
        return np.asarray(coded.indices.to_numpy(), np.int64)

    return snapshot.cached(("qk texts", embedding), read)


def nearest(vectors: Floats, count: int = NEIGHBORS) -> Ints:
    """The nearest points (point, any order) of each point, without itself.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    squares = (vectors.astype(np.float64) ** 2).sum(1)
    distances = squares[:, None] + squares - 2 * (vectors @ vectors.T)
    np.fill_diagonal(distances, np.inf)
    count = min(count, len(vectors) - 1)
    return np.argpartition(distances, count - 1, axis=1)[:, :count] if count else np.empty((len(vectors), 0), np.int64)


def strength(values: NDArray[Any], numeric: bool, near: Ints) -> float:
    """How much more alike near points are than points at random; points without a value are left out.

    Numbers are compared by their ranks, so that few large ones do not decide.

    >>> near = np.array([[1], [0], [3], [2]])
    >>> strength(np.array([0, 0, 1, 1]), False, near), strength(np.array([0, 1, 0, 1]), False, near) < 0
    (1.0, True)
    """
    from scipy.stats import rankdata

    known = np.isfinite(values) if numeric else np.ones(len(values), bool)
    if known.sum() < 2:
        return 0.0
    ranks = np.zeros(len(values))
    ranks[known] = rankdata(values[known]) if numeric else values[known]
    gap = np.abs(ranks[:, None] - ranks[near])
    usable = known[:, None] & known[near]
    usual = _usual(ranks[known], numeric)
    if not usable.any() or usual == 0:
        return 0.0
    observed = (gap if numeric else gap > 0)[usable].mean()
    return float(1 - observed / usual)


def _usual(values: NDArray[Any], numeric: bool) -> float:
    """The mean difference of two values at random; of categories, how often they differ."""
    n = len(values)
    if numeric:
        ordered = np.sort(values)
        return float(2 * (ordered * (2 * np.arange(n) - n + 1)).sum() / (n * (n - 1)))
    _, counts = np.unique(values, return_counts=True)
    return float(1 - (counts * (counts - 1)).sum() / (n * (n - 1)))
