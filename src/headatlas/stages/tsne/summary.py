"""What the experiments found, as tables of a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

STANDARD = -1  # the "head" of standard t-SNE


def compared(table: pa.Table) -> pa.Table:
    """One row a layer and kind (head or standard): KL over runs.

    `deviation` is that over runs of one head and text, averaged over heads and texts: how much the start matters.
    `spread` is the deviation over everything in the layer: heads, texts and runs.
    """
    columns = _columns(table)
    rows = []
    for layer in np.unique(columns["layer"]):
        for kind in ("head", "standard"):
            own = (columns["layer"] == layer) & ((columns["head"] == STANDARD) == (kind == "standard"))
            kl = columns["kl"][own]
            if not np.isfinite(kl).any():
                continue
            rows.append(
                {
                    "layer": int(layer), "kind": kind, "layouts": int(np.isfinite(kl).sum()),
                    "kl_median": float(np.nanmedian(kl)), "kl_mean": float(np.nanmean(kl)),
                    "deviation": _within(kl, columns["text"][own], columns["head"][own]),
                    "spread": float(np.nanstd(kl)),
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows)


def robust(table: pa.Table) -> pa.Table:
    """One row a layer and kind: mean and deviation of KL without and with disturbance, and how much both grew.

    Deviations are over all runs of a text and head, averaged over texts and heads.
    """
    columns = _columns(table)
    rows = []
    for layer in np.unique(columns["layer"]):
        for kind in ("head", "standard"):
            row: dict[str, Any] = {"layer": int(layer), "kind": kind}
            for name, flag in (("without", False), ("with", True)):
                own = (columns["layer"] == layer) & ((columns["head"] == STANDARD) == (kind == "standard"))
                own &= columns["disturbed"] == flag
                kl = columns["kl"][own]
                row[f"mean_{name}"] = float(np.nanmean(kl)) if np.isfinite(kl).any() else float("nan")
                row[f"deviation_{name}"] = _within(kl, columns["text"][own], columns["head"][own])
            if np.isfinite(row["mean_with"]):
                row["mean_growth"] = row["mean_with"] / row["mean_without"]
                row["deviation_growth"] = row["deviation_with"] / max(row["deviation_without"], 1e-12)
                row["deviation_added"] = row["deviation_with"] - row["deviation_without"]
                rows.append(row)
    return pa.Table.from_pylist(rows)


def _columns(table: pa.Table) -> dict[str, NDArray[Any]]:
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def _within(kl: NDArray[np.float64], texts: NDArray[Any], heads: NDArray[Any]) -> float:
    """Deviation over the runs of one text and head, averaged."""
    found = []
    for text in np.unique(texts):
        for head in np.unique(heads[texts == text]):
            own = kl[(texts == text) & (heads == head)]
            if np.isfinite(own).sum() > 1:
                found.append(np.nanstd(own))
    return float(np.mean(found)) if found else float("nan")
