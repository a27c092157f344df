"""Layouts as tables of an atlas: `layouts` with one row per point, `layout_heads` with one row per head.

Standard t-SNE of the hidden states of a layer is stored as the layout of head −1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas

STANDARD = -1  # the "head" of standard t-SNE

Head = tuple[int, int]
Positions = NDArray[np.float32]  # (point, axis)

HEAD = [("layer", pa.int32()), ("head", pa.int32())]
LAYOUTS = pa.schema(
    [
        *HEAD, ("point", pa.int32()), ("token", pa.int32()), ("text", pa.string()), ("query", pa.bool_()),
        ("x", pa.float32()), ("y", pa.float32()),
    ]
)  # fmt: skip
LAYOUT_HEADS = pa.schema(
    [
        *HEAD, ("kl", pa.float64()), ("kl_restarts", pa.list_(pa.float64())), ("mass", pa.float64()),
        ("notes", pa.list_(pa.string())),
    ]
)  # fmt: skip
PARTS = pa.schema([*LAYOUT_HEADS, ("x", pa.list_(pa.float32())), ("y", pa.list_(pa.float32()))])


@dataclass(frozen=True)
class Points:
    """The points of a layout: their text, the token each begins at, and whether it is a query (else a key)."""

    text: list[str]
    token: NDArray[np.int64]
    query: NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """The best layout of a head, KL of every restart, the share of attention in P, and notes on P."""

    positions: Positions
    kl: NDArray[np.float64]
    mass: float  # NaN for standard t-SNE
    notes: tuple[str, ...]


def part(layouts: Mapping[Head, Layout]) -> pa.Table:
    """Layouts before they are aligned, one row per head."""
    rows = [
        _head_row(head, layout) | {"x": layout.positions[:, 0].tolist(), "y": layout.positions[:, 1].tolist()}
        for head, layout in layouts.items()
    ]
    return pa.Table.from_pylist(rows, schema=PARTS)


def from_parts(table: pa.Table) -> dict[Head, Layout]:
    """The layouts of all parts."""
    return {
        (row["layer"], row["head"]): Layout(_positions(row["x"], row["y"]), *_values(row))
        for row in table.to_pylist()
    }  # fmt: skip


def tables(points: Mapping[int, Points], layouts: Mapping[Head, Layout]) -> dict[str, pa.Table]:
    """Both tables; `points` are those of each layer."""
    heads = pa.Table.from_pylist([_head_row(head, layout) for head, layout in layouts.items()], schema=LAYOUT_HEADS)
    rows = [_layout_rows(head, points[head[0]], layout.positions) for head, layout in layouts.items()]
    return {"layouts": pa.concat_tables(rows).combine_chunks(), "layout_heads": heads}


def read(atlas: Atlas, name: str) -> tuple[dict[int, Points], dict[Head, Layout]]:
    """Points by layer and layouts by head of a stored result."""
    table = atlas.table("layouts", name)
    columns = {field: table[field].to_numpy() for field in LAYOUTS.names}
    slices = _slices(columns)
    points: dict[int, Points] = {}
    layouts: dict[Head, Layout] = {}
    for row in atlas.table("layout_heads", name).to_pylist():
        head = row["layer"], row["head"]
        rows = slices.get(head, slice(0, 0))
        points.setdefault(head[0], _points({field: values[rows] for field, values in columns.items()}))
        layouts[head] = Layout(_positions(columns["x"][rows], columns["y"][rows]), *_values(row))
    return points, layouts


def _slices(columns: Mapping[str, NDArray[Any]]) -> dict[Head, slice]:
    """The rows of each head; a head without points has none."""
    changes = [np.diff(columns[name], prepend=-2, append=-2) != 0 for name in ("layer", "head")]
    bounds = np.flatnonzero(changes[0] | changes[1]) if len(columns["layer"]) else np.zeros(0, int)
    return {
        (int(columns["layer"][start]), int(columns["head"][start])): slice(int(start), int(stop))
        for start, stop in pairwise(bounds)
    }


def _head_row(head: Head, layout: Layout) -> dict[str, Any]:
    return {
        "layer": head[0], "head": head[1], "kl": float(layout.kl.min()), "kl_restarts": layout.kl.tolist(),
        "mass": layout.mass, "notes": list(layout.notes),
    }  # fmt: skip


def _values(row: Mapping[str, Any]) -> tuple[NDArray[np.float64], float, tuple[str, ...]]:
    return np.array(row["kl_restarts"], np.float64), row["mass"], tuple(row["notes"])


def _layout_rows(head: Head, points: Points, positions: Positions) -> pa.Table:
    count = len(positions)
    columns = {
        "layer": np.full(count, head[0]), "head": np.full(count, head[1]), "point": np.arange(count),
        "token": points.token, "text": points.text, "query": points.query, "x": positions[:, 0], "y": positions[:, 1],
    }  # fmt: skip
    return pa.Table.from_pydict(columns, schema=LAYOUTS)


def _points(columns: Mapping[str, NDArray[Any]]) -> Points:
    return Points(list(columns["text"]), columns["token"].astype(np.int64), columns["query"].astype(bool))


def _positions(x: Iterable[float], y: Iterable[float]) -> Positions:
    return np.stack([np.asarray(axis, np.float32) for axis in (x, y)], 1)
