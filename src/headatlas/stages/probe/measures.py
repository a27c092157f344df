"""Numbers of single maps, averaged over texts for every head, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.analysis import Measure, Rows
from headatlas.stages.probe.source import Source

LEAST = 20  # texts for an interval: fewer are too few to test

PLACE = [("layer", pa.int32()), ("head", pa.int32())]
PART = [("example", pa.int64()), *PLACE]
NUMBERS = [("mean", pa.float64()), ("low", pa.float64()), ("high", pa.float64()), ("texts", pa.int64())]
TABLE = pa.schema([*PLACE, ("measure", pa.string()), *NUMBERS])


def part_table(rows: Rows, measures: Sequence[Measure], *more: tuple[str, Any]) -> pa.Table:
    """Rows with `example`, `layer`, `head`, one number for each measure and `more` fields, in the order of examples."""
    schema = pa.schema([*PART, *((measure.name, pa.float64()) for measure in measures), *more])
    return pa.Table.from_pylist(sorted(map(dict, rows), key=lambda row: row["example"]), schema=schema)


def head_means(source: Source, rows: pa.Table, measures: Sequence[Measure]) -> pa.Table:
    """One row per head and measure: the mean over texts, each source counted once, and its 95% interval."""
    examples, place = np.unique(rows["example"].to_numpy(), return_inverse=True)
    column = {head: number for number, head in enumerate(source.heads)}
    heads = zip(rows["layer"].to_pylist(), rows["head"].to_pylist(), strict=True)
    head = np.array([column[each] for each in heads])
    tables = []
    for measure in measures:
        values: NDArray[np.float64] = np.full((len(examples), len(column)), np.nan)
        values[place, head] = rows[measure.name].to_numpy()
        tables.append(table_of_means(source, measure.name, values, source.groups[examples]))
    return pa.concat_tables(tables).combine_chunks()


def table_of_means(source: Source, measure: str, values: NDArray[Any], groups: NDArray[Any]) -> pa.Table:
    """One row per head from values (example, head); `groups` are those of the examples."""
    means = mean_over_sources(values, groups, LEAST)
    layer, head = np.array(source.heads).T
    numbers = {name: pa.array(getattr(means, name), from_pandas=True) for name in ("mean", "low", "high")}  # NaN: null
    columns = {"layer": layer, "head": head, "measure": [measure] * len(layer), **numbers, "texts": means.sources}
    return pa.table(columns, schema=TABLE)
