"""What the queries and keys of a head are grouped by: the columns in which near points are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.sharing import nearest, strength
from headatlas.stages.qk.colorings import SCALES
from headatlas.web.api.encoding import UNKNOWN
from headatlas.web.api.payloads.qk import Grouping
from headatlas.web.views import qk
from headatlas.web.views.snapshot import Snapshot
from headatlas.wording.thresholds import GROUPED

POINTS = 1_500  # compared, at most
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
        name: (label, strength(values, numeric, near, circular=SCALES.get(name) == "angle"))
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
        values, numeric = np.asarray(column.coloring.values)[tokens], column.card.kind == "number"
        columns.append((name, column.card.label, values if numeric else _codes(values), numeric))
    return columns


def _codes(values: NDArray[Any]) -> Ints:
    """Categories as numbers; −1 for points without one, such as the part of speech of a special token."""
    return np.where(values == UNKNOWN, -1, values.astype(np.int64))


def _texts(snapshot: Snapshot, embedding: str) -> Ints:
    """A number for each token, the same for equal ones."""

    def read() -> Ints:
        rows = qk.token_rows(snapshot, qk.points(snapshot, embedding)["token"].to_numpy())
        coded: pa.DictionaryArray = rows["text"].combine_chunks().dictionary_encode()
        return np.asarray(coded.indices.to_numpy(), np.int64)

    return snapshot.cached(("qk texts", embedding), read)
