"""Examples of an atlas as the model read them: stored tokens of texts, and files of images. Nothing is tokenized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from headatlas.atlas import schema
from headatlas.atlas.store import Atlas
from headatlas.models.encode import Encoded, Tokens

TOKEN_COLUMNS = ("id", "text", "word", "special", "segment", "start", "stop")  # in the order of the fields of `Tokens`
SPAN_COLUMNS = ("span", "turn")  # which only some atlases have


def read_tokens(atlas: Atlas, numbers: Sequence[int]) -> list[Encoded]:
    """The tokens of some examples, as they were collected."""
    wanted, encoded = set(numbers), {}
    for group in _row_groups(numbers):
        table = atlas.table_groups("tokens", [group], ["example", "target", *TOKEN_COLUMNS, *SPAN_COLUMNS])
        table = _between(table, numbers)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        starts = np.flatnonzero(np.diff(columns["example"], prepend=-1, append=-1))
        for start, stop in pairwise(starts):
            number = int(columns["example"][start])
            if number in wanted:
                encoded[number] = _encoded({name: values[start:stop] for name, values in columns.items()})
    return [encoded[number] for number in numbers]


def read_image_paths(atlas: Atlas, numbers: Sequence[int]) -> list[str]:
    """The image files of some examples."""
    return [row["image"] for row in read_rows(atlas, numbers, ["image"])]


def read_rows(atlas: Atlas, numbers: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Columns of the table `examples` for some examples, one dictionary per example."""
    table = atlas.table_groups("examples", _row_groups(numbers), ["example", *columns])
    rows = {row["example"]: row for row in _between(table, numbers).to_pylist()}
    return [rows[number] for number in numbers]


def _row_groups(numbers: Sequence[int]) -> list[int]:
    """The row groups of `examples` and `tokens` that hold some examples."""
    return sorted({number // schema.TABLE_ROWS for number in numbers})


def _between(table: Any, numbers: Sequence[int]) -> Any:
    """The rows from the first of some examples to the last: a row group holds several blocks of examples."""
    start, stop = np.searchsorted(table["example"].to_numpy(), [min(numbers, default=0), max(numbers, default=-1) + 1])
    return table.slice(start, stop - start)


def _encoded(columns: dict[str, Any]) -> Encoded:
    target = columns["target"].astype(bool)
    return Encoded(_tokens(columns, ~target), _tokens(columns, target) if target.any() else None)


def _tokens(columns: dict[str, Any], selected: Any) -> Tokens:
    ids, text, *rest = (columns[name][selected] for name in TOKEN_COLUMNS)
    span, turn = (columns[name][selected] if name in columns else None for name in SPAN_COLUMNS)
    return replace(Tokens(ids, list(text), *rest), span=None if span is None else list(span), turn=turn)
