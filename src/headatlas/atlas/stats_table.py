"""The statistics of all maps as one table: a row per map, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.blocks import row_ranges
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError

NAME = "stats"
Numbers = int | Sequence[int] | None


def stats_parts(atlas: Atlas, *, layers: Numbers = None, examples: Numbers = None) -> Iterator[pa.Table]:
    """The table of statistics for each block of examples, with only these layers and examples; None: all."""
    atlas.needed(schema.COLLECT)
    heads = np.array(existing_heads(atlas))  # (head, 2)
    chosen_layers = _chosen("layer", layers, int(heads[:, 0].max()) + 1)
    chosen = _chosen("example", examples, int(atlas.collection["counts"]["examples"]))
    heads = heads[np.isin(heads[:, 0], chosen_layers)]
    for rows in row_ranges(atlas, "stats"):
        inside = chosen[(chosen >= rows.start) & (chosen < rows.stop)]
        if len(inside):
            yield _part(atlas, rows, inside, heads)


def stats_rows(atlas: Atlas) -> int:
    """Number of rows of the whole table."""
    return int(atlas.collection["counts"]["examples"]) * len(existing_heads(atlas))


def _part(atlas: Atlas, rows: range, examples: NDArray[np.int64], heads: NDArray[Any]) -> pa.Table:
    statistics = list(atlas.array("stats").attrs["stats"])
    values = atlas.read("stats", slice(rows.start, rows.stop))[examples - rows.start]
    values = values[:, heads[:, 0], heads[:, 1]].reshape(-1, len(statistics))  # (map, stat)
    table = _examples(atlas, rows).take(examples - rows.start).take(np.repeat(np.arange(len(examples)), len(heads)))
    columns = {name: table[name] for name in ("example", "id")}
    columns |= {name: np.tile(heads[:, axis], len(examples)) for axis, name in enumerate(("layer", "head"))}
    columns |= {name: values[:, place] for place, name in enumerate(statistics)}
    for name in table.column_names[2:]:
        columns[f"data_{name}" if name in columns else name] = table[name]
    return pa.table(columns)


def _examples(atlas: Atlas, rows: range) -> pa.Table:
    """Number, id and length of the examples of a block, and the columns of the dataset."""
    names = [name for name in atlas.table_columns("examples") if name not in schema.BOOKKEEPING]
    group = rows.start // schema.TABLE_ROWS  # a block never crosses row groups
    table = atlas.table_groups("examples", [group], ["example", "id", *names])
    return table.select(["example", "id", *names]).slice(rows.start - group * schema.TABLE_ROWS, len(rows))


def _chosen(what: str, numbers: Numbers, count: int) -> NDArray[np.int64]:
    chosen = np.unique(np.arange(count) if numbers is None else np.atleast_1d(np.asarray(numbers, np.int64)))
    outside = chosen[(chosen < 0) | (chosen >= count)]
    if len(outside) or not len(chosen):
        shown = outside[0] if len(outside) else "none"
        raise OptionError(f"{what}s {shown}: choose from 0 to {count - 1:,}")
    return chosen
