"""Where attention goes in a map: by distance from query to key, and by position of the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACH = 32  # tokens back and ahead
POSITIONS = 64  # tokens from the first


@dataclass(frozen=True)
class Part:
    """Places of one kind among all of a map: rows × columns, from (`first_row`, `first_column`) on."""

    within: slice
    rows: int
    columns: int
    first_row: int
    first_column: int


class Places(Protocol):
    """The places of the maps of a layer."""

    offsets: Part | None
    positions: Part | None
    special: Part | None

    def means(self, weights: Floats) -> Floats:
        """The mean weight of a map (query, key) at every place; NaN where there is none."""


def places_for(layer: Mapping[str, Any], grid: Mapping[str, Any] | None) -> Places:
    """The places of a layer: of patches on a grid, or of tokens in a row."""
    if grid is not None:
        return GridPlaces(tuple(grid["special"]), grid["rows"], grid["columns"])
    return TokenPlaces(layer["causal"], layer["kind"] == "cross")


class TokenPlaces:
    """Distances of up to 32 tokens, back only if later tokens are hidden, and positions from 0 to 63.

    >>> places = TokenPlaces(causal=True, cross=False)
    >>> means = places.means(np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> means[places.offsets.within][-2:].tolist(), means[places.positions.within][:3].tolist()
    ([0.25, 0.875], [0.625, 0.75, nan])
    """

    special: Part | None = None

    def __init__(self, causal: bool, cross: bool) -> None:
        self.causal = causal
        self.distances = range(0) if cross else range(-REACH, 1 if causal else REACH + 1)
        count = len(self.distances)
        self.offsets: Part | None = None if cross else Part(slice(0, count), 1, count, 0, -REACH)
        self.positions: Part | None = Part(slice(count, count + POSITIONS), 1, POSITIONS, 0, 0)

    def means(self, weights: Floats) -> Floats:
        """Over the queries for which the key exists; by position, over those that may attend to the key."""
        queries, keys = weights.shape
        values = np.full(len(self.distances) + POSITIONS, np.nan)
        for place, distance in enumerate(self.distances):
            if -queries < distance < keys:
                values[place] = np.diagonal(weights, distance).mean()
        counted = min(keys, POSITIONS)
        may = np.maximum(queries - np.arange(counted), 1) if self.causal else queries
        first = len(self.distances)
        values[first : first + counted] = weights[:, :counted].sum(0) / may
        return values


class GridPlaces:
    """Offsets in rows and columns between patches, patches as keys, and special tokens.

    >>> places = GridPlaces(("[CLS]",), 1, 2)
    >>> weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
    >>> means = places.means(weights)
    >>> means[places.offsets.within].tolist(), means[places.positions.within].tolist()
    ([0.5, 0.125, 0.25], [0.25, 0.08333333333333333])
    """

    def __init__(self, special: tuple[str, ...], rows: int, columns: int) -> None:
        self.first, self.rows, self.columns = len(special), rows, columns
        offsets, patches = (2 * rows - 1) * (2 * columns - 1), rows * columns
        self.offsets: Part | None = Part(
            slice(0, offsets), 2 * rows - 1, 2 * columns - 1, 1 - rows, 1 - columns
        )  # fmt: skip
        self.positions: Part | None = Part(slice(offsets, offsets + patches), rows, columns, 0, 0)
        self.special: Part | None = Part(slice(offsets + patches, None), 1, len(special), 0, 0) if special else None

    def means(self, weights: Floats) -> Floats:
        """Offsets over query patches for which the patch exists; patches and special tokens over all queries."""
        numbers = _offset_numbers(self.rows, self.columns)
        sums = np.bincount(numbers, weights[self.first :, self.first :].ravel())
        received = weights.mean(0)
        return np.concatenate([sums / np.bincount(numbers), received[self.first :], received[: self.first]])


@lru_cache(maxsize=8)
def _offset_numbers(rows: int, columns: int) -> NDArray[np.int64]:
    """The number of the offset of every pair of patches (query, key), flat."""
    row, column = (values.ravel() for values in np.indices((rows, columns)))
    down = row[None, :] - row[:, None] + rows - 1
    across = column[None, :] - column[:, None] + columns - 1
    return (down * (2 * columns - 1) + across).ravel()
