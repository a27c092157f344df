"""The table of clusters: where each lives, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.metrics import entropy
from headatlas.progress import percent
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.factors import Factor
from headatlas.stages.correlate.tables import SURE, TEXT, WHOLE, Named, plain

Array = NDArray[Any]
MORE = 1.25  # a layer is part of a home if it has a quarter more of a cluster than its fair share
SHOWN = 5
WORTH = 1.1  # a smaller surplus of a column's value, however significant, is not worth a line

FIELDS = {
    "cluster": pa.int32(), "name": TEXT, "evidence": TEXT, "maps": WHOLE, "share": pa.float64(),
    "stability": pa.float64(), "layers": TEXT, "heads": TEXT, "n_heads": pa.int32(), "head_entropy": pa.float64(),
    "examples": WHOLE, "association": TEXT,
}  # fmt: skip


def clusters(maps: Coded, named: Named, factors: Sequence[Factor], stability: Mapping[int, float | None]) -> pa.Table:
    """A row for each cluster, the largest first, noise last."""
    by_name = {one.name: one for one in factors}
    head, layer = by_name["head"], by_name["layer"]
    columns = [one for one in factors if one.name not in ("head", "layer", "example")]
    total = head.table.sum()
    rows = []
    for code in by_size(maps):
        cluster, own = int(maps.clusters[code]), head.table[:, code]
        mostly = own >= np.maximum(1, head.table.sum(1)) / 2
        spread = entropy(own / own.sum()) / np.log(len(own)) if len(own) > 1 else 0.0
        name, why = named[cluster]
        rows.append(
            {"cluster": cluster, "name": name, "evidence": why, "maps": int(own.sum()), "share": own.sum() / total,
             "stability": stability.get(cluster), "layers": layers_of(layer, code), "heads": heads_of(head, code),
             "n_heads": int(mostly.sum()), "head_entropy": spread,
             "examples": int((maps.codes == code).any(1).sum()), "association": _strongest(columns, code)}
        )  # fmt: skip
    return pa.table({name: pa.array([plain(row[name]) for row in rows], kind) for name, kind in FIELDS.items()})


def by_size(maps: Coded) -> list[int]:
    """Codes, those with the most maps first, noise last."""
    counts = [int((maps.codes == code).sum()) for code in range(maps.kinds)]
    return sorted(range(maps.kinds), key=lambda code: (maps.clusters[code] < 0, -counts[code], code))


def layers_of(layer: Factor, code: int) -> str:
    """Layers with clearly more than their fair share; `spread` where these hold less than half of the cluster."""
    own, expected, q = layer.table[:, code], layer.cells["expected"][:, code], layer.cells["q"][:, code]
    home = (own >= MORE * expected) & ((q < SURE) | np.isnan(q))
    if own[home].sum() < own.sum() / 2:
        return "spread"
    return ranges(int(layer.values[place]) for place in np.flatnonzero(home))


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in order, runs joined.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in runs)


def heads_of(head: Factor, code: int) -> str:
    """Heads whose maps mostly lie in the cluster, with how many of them do; else those it has more of than expected."""
    share = head.table[:, code] / np.maximum(1, head.table.sum(1))
    more = head.table[:, code] > head.cells["expected"][:, code]
    q = head.cells["q"][:, code]
    sure = more & ((q < SURE) | np.isnan(q))
    found = np.flatnonzero(sure & (share >= 0.5))
    shown = SHOWN if len(found) else 3
    found = found if len(found) else np.flatnonzero(sure)
    order = found[np.argsort(-share[found], kind="stable")]
    named = [f"{head.values[slot]} ({percent(share[slot])})" for slot in order[:shown]]
    rest = len(order) - len(named)
    return ", ".join(named) + (f", {rest} more" if rest and share[order[0]] >= 0.5 else "")


def _strongest(columns: Sequence[Factor], code: int) -> str | None:
    """The significant value of a column that is most over-represented, as a ratio to what was expected."""
    best: tuple[float, str] | None = None
    for one in columns:
        for place, value in enumerate(one.values):
            q, residual = one.cells["q"][place, code], one.cells["residual"][place, code]
            ratio = one.table[place, code] / max(1e-9, one.cells["expected"][place, code])
            if q < SURE and ratio >= WORTH and (best is None or residual > best[0]):
                best = (residual, f"{one.name} = {value}: {ratio:.2f} times the expected maps, q {q:.2g}")
    return best[1] if best else None
