"""Short summary tables of the experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.stages.tsne.layout_tables import STANDARD

KINDS = ("head", "standard")

Columns = dict[str, NDArray[Any]]


def compared(table: pa.Table) -> pa.Table:
    """Summarize the table of `tsne.compare`.

    >>> runs = {"example": [0, 0, 0, 0], "layer": [1, 1, 1, 1], "head": [3, 3, -1, -1], "kl": [0.5, 0.7, 0.2, 0.2]}
    >>> [(row["kind"], round(row["kl_median"], 3)) for row in compared(pa.table(runs)).to_pylist()]
    [('head', 0.6), ('standard', 0.2)]

    Parameters
    ----------
    table
        The table `layout_runs`.

    Returns
    -------
    pyarrow.Table
        One row per layer and kind (head or standard): KL over runs. `deviation` is that over runs of one head and
        example, averaged over heads and examples: how much the start matters. `spread` is the deviation over
        everything in the layer: heads, examples and runs.
    """
    columns = _columns(table)
    rows = []
    for layer in np.unique(columns["layer"]):
        for kind in KINDS:
            part = _of_kind(columns, layer, kind)
            kl = part["kl"]
            if not np.isfinite(kl).any():
                continue
            rows.append(
                {
                    "layer": int(layer), "kind": kind, "layouts": int(np.isfinite(kl).sum()),
                    "kl_median": float(np.nanmedian(kl)), "kl_mean": float(np.nanmean(kl)),
                    "deviation": _deviation_of_runs(part), "spread": float(np.nanstd(kl)),
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows)


def robust(table: pa.Table) -> pa.Table:
    """Summarize the table of `tsne.robustness`.

    >>> runs = {"example": [0] * 4, "layer": [1] * 4, "head": [3] * 4, "kl": [0.5, 0.7, 0.4, 0.8]}
    >>> row = robust(pa.table(runs | {"disturbed": [False, False, True, True]})).to_pylist()[0]
    >>> round(row["mean_growth"], 3), round(row["deviation_growth"], 3)
    (1.0, 2.0)

    Parameters
    ----------
    table
        The table `layout_runs`.

    Returns
    -------
    pyarrow.Table
        One row per layer and kind (head or standard): mean and deviation of KL without and with disturbance, and how
        much both grew. Deviations are over all runs of a head and example, averaged over heads and examples.
    """
    columns = _columns(table)
    rows = []
    for layer in np.unique(columns["layer"]):
        for kind in KINDS:
            row: dict[str, Any] = {"layer": int(layer), "kind": kind}
            part = _of_kind(columns, layer, kind)
            for name, flag in (("without", False), ("with", True)):
                state = _where(part, part["disturbed"] == flag)
                finite = np.isfinite(state["kl"]).any()
                row[f"mean_{name}"] = float(np.nanmean(state["kl"])) if finite else float("nan")
                row[f"deviation_{name}"] = _deviation_of_runs(state)
            if np.isfinite(row["mean_with"]):
                row["mean_growth"] = row["mean_with"] / row["mean_without"]
                row["deviation_growth"] = row["deviation_with"] / max(row["deviation_without"], 1e-12)
                row["deviation_added"] = row["deviation_with"] - row["deviation_without"]
                rows.append(row)
    return pa.Table.from_pylist(rows)


def _columns(table: pa.Table) -> Columns:
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def _where(columns: Columns, rows: NDArray[np.bool_]) -> Columns:
    return {name: values[rows] for name, values in columns.items()}


def _of_kind(columns: Columns, layer: int, kind: str) -> Columns:
    """The rows of heads of a layer, or of its hidden states."""
    return _where(columns, (columns["layer"] == layer) & ((columns["head"] == STANDARD) == (kind == "standard")))


def _deviation_of_runs(columns: Columns) -> float:
    """Deviation over the runs of one example and head, averaged."""
    kl, examples, heads = columns["kl"], columns["example"], columns["head"]
    deviations = []
    for example in np.unique(examples):
        for head in np.unique(heads[examples == example]):
            runs = kl[(examples == example) & (heads == head)]
            if np.isfinite(runs).sum() > 1:
                deviations.append(np.nanstd(runs))
    return float(np.mean(deviations)) if deviations else float("nan")
