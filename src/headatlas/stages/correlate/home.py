"""The table of clusters: what each is called and why, how large it is, and which layers and heads it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.factors import Factor
from headatlas.stages.correlate.names import Name
from headatlas.stages.correlate.tables import NAME, REAL, TEXT, WHOLE, cluster_text, make_table, name_columns
from headatlas.wording import Association, HeadShare
from headatlas.wording.thresholds import MOSTLY, SIGNIFICANT, SURPLUS, WORTH

Array = NDArray[Any]

HEAD = pa.struct({"layer": pa.int32(), "head": pa.int32(), "share": REAL})
ASSOCIATION = pa.struct({"column": TEXT, "value": TEXT, "ratio": REAL, "q": REAL})
FIELDS = {
    "cluster": pa.int32(), "name": TEXT, "maps": WHOLE, "share": REAL, "stability": REAL, "mostly": pa.int32(),
    "layers": pa.list_(pa.int32()), "heads": pa.list_(HEAD), "head_entropy": REAL, "examples": WHOLE,
    "association": ASSOCIATION, **NAME,
}  # fmt: skip


def clusters(
    maps: Coded, named: Mapping[int, Name], factors: Sequence[Factor], stability: Mapping[int, float | None]
) -> pa.Table:
    """A row for each cluster, the largest first, noise last."""
    by_name = {factor.name: factor for factor in factors}
    head, layer = by_name["head"], by_name["layer"]
    columns = [factor for factor in factors if factor.name not in ("head", "layer", "example")]
    total = head.table.sum()
    rows = []
    for code in by_size(maps):
        cluster, counts = int(maps.clusters[code]), head.table[:, code]
        mostly = counts >= np.maximum(1, head.table.sum(1)) * MOSTLY
        spread = entropy(counts / counts.sum()) / np.log(len(counts)) if len(counts) > 1 else 0.0
        rows.append(
            {"cluster": cluster, "maps": int(counts.sum()), "share": counts.sum() / total,
             "stability": stability.get(cluster), "layers": layers_of(layer, code),
             "heads": heads_of(maps, head, code), "mostly": int(mostly.sum()), "head_entropy": spread,
             "examples": int((maps.codes == code).any(1).sum()), "association": strongest(columns, code)}
            | name_columns(named[cluster]) | {"name": cluster_text(cluster, named[cluster])}
        )  # fmt: skip
    return make_table(rows, FIELDS)


def by_size(maps: Coded) -> list[int]:
    """Codes, those with the most maps first, noise last."""
    counts = [int((maps.codes == code).sum()) for code in range(maps.kinds)]
    return sorted(range(maps.kinds), key=lambda code: (maps.clusters[code] < 0, -counts[code], code))


def layers_of(layer: Factor, code: int) -> list[int]:
    """Layers with clearly more than their fair share; none where these hold less than half of the cluster."""
    counts, expected, q = layer.table[:, code], layer.cells["expected"][:, code], layer.cells["q"][:, code]
    chosen = (counts >= SURPLUS * expected) & ((q < SIGNIFICANT) | np.isnan(q))
    if counts[chosen].sum() < counts.sum() / 2:
        return []
    return [int(layer.values[place]) for place in np.flatnonzero(chosen)]


def heads_of(maps: Coded, head: Factor, code: int) -> list[HeadShare]:
    """Heads whose maps mostly lie in the cluster, the surest first; else all that it has more of than expected."""
    share = head.table[:, code] / np.maximum(1, head.table.sum(1))
    more = head.table[:, code] > head.cells["expected"][:, code]
    q = head.cells["q"][:, code]
    surplus = more & ((q < SIGNIFICANT) | np.isnan(q))
    slots = np.flatnonzero(surplus & (share >= MOSTLY))
    slots = slots if len(slots) else np.flatnonzero(surplus)
    return [
        HeadShare(layer=int(maps.layer[slot]), head=int(maps.head[slot]), share=float(share[slot]))
        for slot in slots[np.argsort(-share[slots], kind="stable")]
    ]


def strongest(columns: Sequence[Factor], code: int) -> Association | None:
    """The significant value of a column that is most over-represented, as a ratio to what was expected."""
    best: tuple[float, Association] | None = None
    for column in columns:
        for place, value in enumerate(column.values):
            q, residual = column.cells["q"][place, code], column.cells["residual"][place, code]
            ratio = column.table[place, code] / max(1e-9, column.cells["expected"][place, code])
            if q < SIGNIFICANT and ratio >= WORTH and (best is None or residual > best[0]):
                best = (residual, Association(column=column.name, value=value, ratio=float(ratio), q=float(q)))
    return best[1] if best else None
