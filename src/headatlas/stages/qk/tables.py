"""The tables of heads: what each plot is worth, where heads lie among all heads, and which are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.stages.qk.embedding import NUMBERS
from headatlas.stages.qk.head_map import map_of, nearest

Head = tuple[int, int]

WHOLE, REAL, TEXT = pa.int32(), pa.float64(), pa.string()
PLACE = {"layer": WHOLE, "head": WHOLE}
HEADS = PLACE | dict.fromkeys(NUMBERS, REAL) | {"note": TEXT}
MAP = PLACE | {"kind": TEXT, "x": REAL, "y": REAL}
RELATED = PLACE | {"kind": TEXT, "rank": WHOLE, "other_layer": WHOLE, "other_head": WHOLE, "distance": REAL}


def make_table(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> pa.Table:
    """Rows as a table; columns that a row does not have are null."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))


def head_maps(vectors: Mapping[str, NDArray[Any]], heads: Sequence[Head], seed: int) -> tuple[pa.Table, pa.Table]:
    """The tables `qk_map` and `qk_related` from vectors (head, feature) for each kind of map; NaN: left out."""
    placed, related = [], []
    for kind, values in vectors.items():
        known = np.flatnonzero(np.isfinite(values).all(1)).tolist()
        if not known:
            continue
        positions, distances = map_of(values[known], seed)
        names = [heads[place] for place in known]
        for (layer, head), (x, y) in zip(names, positions.tolist(), strict=True):
            placed.append({"layer": layer, "head": head, "kind": kind, "x": x, "y": y})
        for place, rank, other, distance in nearest(distances):
            row = {"layer": names[place][0], "head": names[place][1], "kind": kind, "rank": rank}
            related.append(row | {"other_layer": names[other][0], "other_head": names[other][1], "distance": distance})
    return make_table(placed, MAP), make_table(related, RELATED)
