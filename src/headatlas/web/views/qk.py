"""Queries and keys in one space: what was drawn, the tokens, and what they can be colored by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headatlas.stages.qk.colorings import COLORINGS
from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.qk import EmbeddedHead, EmbeddedTokens, Embedding, HeadPlace, PointColumn, RelatedHead
from headatlas.web.views import example_table
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known
from headatlas.wording.thresholds import MISPLACED

MEASURES = ("norm", "trust", "kept")  # of points
SAMPLE_POINTS = 300_000  # of all heads together, about: a browser without a graphics card draws these in seconds
MOST_TOKENS = 2_000  # of the sample: more cannot be told apart in a small plot …
FEWEST_TOKENS = 250  # … and fewer do not show its shape


def entry(snapshot: Snapshot, embedding: str) -> dict[str, Any]:
    """A finished result, or an error that says what to run."""
    return snapshot.result("qk", embedding, "plot of queries and keys")


def embedding(snapshot: Snapshot, embedding: str) -> Embedding:
    """What was drawn: columns, heads with their trust, and the maps of heads."""
    facts = entry(snapshot, embedding)["facts"]
    low, high = norm_range(snapshot, embedding)
    return Embedding(
        name=embedding, method=facts["method"], dims=facts["dims"], tokens=facts["tokens"], examples=facts["examples"],
        neighbors=facts["neighbors"], norm_low=low, norm_high=high,
        columns=[column.card for column in catalog(snapshot, embedding).values()],
        heads=_heads(snapshot, embedding),
        map=[HeadPlace(**row) for row in snapshot.atlas.table("qk_map", embedding).to_pylist()],
        related=[RelatedHead(**row) for row in snapshot.atlas.table("qk_related", embedding).to_pylist()],
    )  # fmt: skip


def _heads(snapshot: Snapshot, embedding: str) -> list[EmbeddedHead]:
    misplaced = per_head(snapshot, "qk_trust", embedding, _misplaced)
    rows = snapshot.atlas.table("qk_heads", embedding).to_pylist()
    return [EmbeddedHead(**_known(row), misplaced=known(misplaced[row["layer"]][row["head"]])) for row in rows]


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """A row with None for numbers that are undefined."""
    return {name: value if name in ("layer", "head", "note") else known(value) for name, value in row.items()}


def _misplaced(trust: NDArray[Any]) -> float:
    drawn = trust[np.isfinite(trust)]
    return float((drawn < MISPLACED).mean()) if drawn.size else float("nan")


def per_head(
    snapshot: Snapshot, name: str, embedding: str, compute: Callable[[NDArray[Any]], Any]
) -> list[list[Any]]:  # fmt: skip
    """Something computed from the values of each head, by layer and head; computed once."""

    def read() -> list[list[Any]]:
        return [[compute(head) for head in layer_values(snapshot, name, embedding, number)] for number in layers]

    layers = range(len(snapshot.atlas.header["model"]["layers"]))
    return snapshot.cached((name, embedding, compute.__name__), read)


def layer_values(snapshot: Snapshot, name: str, embedding: str, layer: int) -> NDArray[Any]:
    """An array (head, point, …) of one layer."""
    return snapshot.atlas.read(name, (layer,), embedding)


def norm_range(snapshot: Snapshot, embedding: str) -> tuple[float | None, float | None]:
    """The smallest and the largest norm over all heads."""
    ends = np.array(per_head(snapshot, "qk_norm", embedding, _ends), np.float64).reshape(-1, 2)
    ends = ends[np.isfinite(ends).all(1)]
    return (float(ends[:, 0].min()), float(ends[:, 1].max())) if ends.size else (None, None)


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (float("nan"), float("nan"))


# tokens


def points(snapshot: Snapshot, embedding: str) -> pa.Table:
    """The table of tokens."""
    entry(snapshot, embedding)
    return snapshot.cached(("qk_points", embedding), lambda: snapshot.atlas.table("qk_points", embedding))


def tokens(snapshot: Snapshot, embedding: str) -> EmbeddedTokens:
    """The tokens that are drawn, with their texts."""
    table = points(snapshot, embedding)
    rows = token_rows(snapshot, table["token"].to_numpy())
    coded = rows["text"].combine_chunks().dictionary_encode()
    special, target = (
        np.flatnonzero(rows[name].to_numpy()).tolist() if name in rows.column_names else []
        for name in ("special", "target")
    )
    return EmbeddedTokens(
        example=table["example"].to_pylist(), position=table["position"].to_pylist(), text=coded.indices.to_pylist(),
        texts=coded.dictionary.to_pylist(), special=special, target=target,
        sample=sample(snapshot, embedding).tolist(),
    )  # fmt: skip


def token_rows(snapshot: Snapshot, wanted: NDArray[np.int64]) -> pa.Table:
    """Rows (rising) of the table of all tokens."""
    names: list[str] = [
        name for name in ("text", "special", "target") if name in snapshot.atlas.table_columns("tokens")
    ]
    parts, first = [], 0
    for part in snapshot.atlas.table_parts("tokens", names):
        low, high = np.searchsorted(wanted, (first, first + part.num_rows))
        parts.append(part.take(wanted[low:high] - first))
        first += part.num_rows
    return pa.concat_tables(parts)


def sample(snapshot: Snapshot, embedding: str) -> NDArray[np.int64]:
    """The tokens whose points are shown while there are many heads: a random part of all, rising."""
    heads = sum(layer["heads"] for layer in snapshot.atlas.header["model"]["layers"])
    tokens = int(entry(snapshot, embedding)["facts"]["tokens"])
    count = min(MOST_TOKENS, max(FEWEST_TOKENS, SAMPLE_POINTS // (2 * heads)))
    return np.sort(np.random.default_rng(0).permutation(tokens)[:count])


# columns


@dataclass(frozen=True)
class Column:
    """A column, and its values."""

    card: PointColumn
    coloring: example_table.Coloring


def catalog(snapshot: Snapshot, embedding: str) -> dict[str, Column]:
    """The columns whose values differ between tokens, by name."""

    def read() -> dict[str, Column]:
        table = points(snapshot, embedding)
        columns = {item.name: _column(item, table[item.name]) for item in COLORINGS if item.name in table.column_names}
        return {name: column for name, column in columns.items() if column is not None}

    return snapshot.cached(("qk columns", embedding), read)


SPECIAL_IS_NEGATIVE = ("row", "column", "sentence_position")  # special tokens have none


def _column(item: Any, values: pa.ChunkedArray) -> Column | None:
    plain = values.cast(pa.string()) if item.kind == "category" and pa.types.is_integer(values.type) else values
    if item.name in SPECIAL_IS_NEGATIVE:
        plain = pc.if_else(pc.less(values, 0), None, values)
    coloring = example_table.coloring_of(plain)
    if coloring is None:
        return None
    card = PointColumn(
        name=item.name, label=item.label, definition=item.definition, kind=coloring.kind,
        encoding="code" if coloring.kind == "category" else "amount", low=coloring.low, high=coloring.high,
        unit=item.unit, categories=coloring.categories,
    )  # fmt: skip
    return Column(card, coloring)


def column(snapshot: Snapshot, embedding: str, column: str) -> bytes:
    """The buffer of a column: a value per token."""
    columns = catalog(snapshot, embedding)
    if column not in columns:
        raise RequestError(404, f"There is no column called {column[:80]!r}. The columns are {', '.join(columns)}.")
    return columns[column].coloring.encoded().astype(arrays.DTYPE).tobytes()
