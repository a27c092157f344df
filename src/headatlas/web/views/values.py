"""Values of all maps, read from an atlas block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import block_size, read_blocks
from headatlas.web.api import arrays
from headatlas.web.api.payloads.base import Payload
from headatlas.web.views.snapshot import Snapshot


def known(value: Any) -> float | None:
    """A number as JSON can hold it: null if it is not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def known_fields(row: dict[str, Any], shape: type[Payload]) -> dict[str, Any]:
    """The fields of a payload from a row of a table, NaN as null."""
    values = {field: row.get(field) for field in shape.model_fields}
    return {field: known(value) if isinstance(value, float) else value for field, value in values.items()}


def of_example(snapshot: Snapshot, name: str, example: int, of: str | None = None) -> NDArray[Any]:
    """The values (layer, head, …) of one example. Its block is decompressed as a whole, so the latest is kept."""
    size = block_size(snapshot.atlas.array(name, of))
    start, block = snapshot.block_of(
        f"{name} {of or ''}", example, size, lambda start, stop: snapshot.atlas.read(name, slice(start, stop), of)
    )
    values: NDArray[Any] = block[example - start]
    return values


def joined(
    snapshot: Snapshot, name: str, of: str | None, take: Callable[[NDArray[Any]], NDArray[Any]], dtype: str
) -> NDArray[Any]:
    """What `take` gives for each block of an array, joined: one value per map."""
    values = np.empty(snapshot.shape, dtype)
    for rows, block in read_blocks(snapshot.atlas, name, of):
        values[rows.start : rows.stop] = take(block)
    return values.reshape(-1)


def floats(snapshot: Snapshot, name: str, of: str) -> NDArray[Any]:
    """An array of numbers: one per map."""
    return joined(snapshot, name, of, np.asarray, "<f4")


def amounts(values: NDArray[Any], low: float | None, high: float | None) -> arrays.U16:
    """Encoded numbers; the range is unknown if no value is finite."""
    return arrays.amounts(values, 0.0 if low is None else low, 0.0 if high is None else high)


def value_range(snapshot: Snapshot, name: str, of: str | None) -> tuple[float | None, float | None]:
    """The smallest and the largest value of an array."""
    low = high = np.float32(np.nan)
    for _, block in read_blocks(snapshot.atlas, name, of):
        low, high = np.fmin(low, np.fmin.reduce(block, None)), np.fmax(high, np.fmax.reduce(block, None))
    return known(low), known(high)


def value_ranges(snapshot: Snapshot, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The smallest and the largest value over all maps, for each place of the last axis."""
    count = int(snapshot.atlas.array(name).shape[-1])
    low, high = np.full(count, np.nan, np.float32), np.full(count, np.nan, np.float32)
    for _, block in read_blocks(snapshot.atlas, name):
        flat = block.reshape(len(block), -1)  # long rows are compared faster than short ones
        low = np.fmin(low, np.fmin.reduce(np.fmin.reduce(flat, 0).reshape(-1, count), 0))
        high = np.fmax(high, np.fmax.reduce(np.fmax.reduce(flat, 0).reshape(-1, count), 0))
    return low, high
