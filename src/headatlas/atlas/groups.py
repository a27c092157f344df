"""Which examples have one source: windows of one text, and texts with the same value of a column."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError

Array = NDArray[Any]
SHORT = 40  # characters; of a longer text only the digest is kept


@dataclass(frozen=True)
class Groups:
    """The group of each example, and the column whose equal values are one group, besides windows of one text."""

    number: Array  # (example,) from 0
    column: str | None = None

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.number.max()) + 1


def group_column(atlas: Atlas, requested: str | None) -> str | None:
    """The requested column or, by default, the one that the reader of the dataset declares, if it is stored."""
    names = atlas.table_columns("examples")
    if requested is None:
        declared: str | None = atlas.header["data"].get("group")
        return declared if declared in names else None
    if requested not in names:
        listing = ", ".join(names)
        raise OptionError(f"the table examples has no column {requested!r} to group by; the columns are: {listing}")
    return requested


def read_groups(atlas: Atlas, column: str | None) -> Groups:
    """Read the groups, a part of the table at a time; a text without a value is a group of its own."""
    known: tuple[dict[Any, int], dict[Any, int]] = ({}, {})
    texts, values = [], []
    for part in atlas.table_parts("examples", list(dict.fromkeys(["id", column or "id"]))):
        if column is not None and pa.types.is_nested(part.schema.field(column).type):
            raise OptionError(f"the column {column!r} holds lists: choose one with a single value per text to group by")
        texts += _numbers(part["id"], known[0])
        values += _numbers(part[column or "id"], known[1])
    return Groups(joined(np.array(texts), np.array(values)), column)


def _numbers(values: pa.ChunkedArray, known: dict[Any, int]) -> list[int]:
    """Values as numbers, in the order in which they first occur; -1 for none."""
    numbers = []
    for value in values.to_pylist():
        if value is None or value != value:  # NaN is not itself
            numbers.append(-1)
            continue
        long = isinstance(value, str) and len(value) > SHORT
        key = blake2b(value.encode(), digest_size=16).digest() if long else value
        numbers.append(known.setdefault(key, len(known)))
    return numbers


def joined(texts: Array, values: Array) -> Array:
    """Groups of examples that share a text or a value, directly or through others; -1 is no value.

    >>> joined(np.array([0, 0, 1, 2, 3]), np.array([-1, 0, 0, -1, 1])).tolist()
    [0, 0, 0, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    has_value = values >= 0
    first = int(texts.max()) + 1
    size = first + int(values.max()) + 1
    ends = (texts[has_value], first + values[has_value])
    graph = coo_array((np.ones(int(has_value.sum()), np.int8), ends), shape=(size, size))
    component = connected_components(graph, directed=False)[1]
    return np.unique(component[texts], return_inverse=True)[1]
