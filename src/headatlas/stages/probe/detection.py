"""How much attention the maps of an example have on the keys of each detector, and what chance gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.models.encode import Encoded
from headatlas.models.model import Layer, Model
from headatlas.models.shuffle import shifted
from headatlas.numeric.chance import cumulants
from headatlas.stages.probe.detectors import DETECTORS, TEXTS, Detector, detectors_of
from headatlas.stages.probe.key_sets import Mask
from headatlas.stages.probe.measures import PART
from headatlas.stages.probe.readings import Reading, by_cell, readings, side
from headatlas.stages.probe.source import ExampleMaps, Source

DRAWS = 64  # of the tokens of each text, for what chance gives

NUMBERS = ("score", "chance", "variance", "third")
TABLE = pa.schema([*PART, ("detector", pa.string()), *((name, pa.float64()) for name in NUMBERS)])


class Cells(NamedTuple):
    """The cells of a map whose sum, by the number of queries that count, is its score."""

    places: NDArray[np.int64]  # query · keys + key
    queries: int
    even: float  # the score of even attention


def cells(keys: Mask, allowed: Mask) -> Cells | None:
    """Of queries that can attend both to keys of the detector and to others; None if there are none."""
    keys = keys & allowed
    count, choices = keys.sum(1), allowed.sum(1)
    counted = (count > 0) & (count < choices)
    if not counted.any():
        return None
    even = float((count[counted] / choices[counted]).mean())
    return Cells(np.flatnonzero(keys & counted[:, None]), int(counted.sum()), even)


def scores(maps: NDArray[np.float32], drawn: Sequence[Cells]) -> NDArray[np.float64]:
    """Scores (head, draw) of maps (cell, head)."""
    from scipy.sparse import csr_array  # no BLAS: few cells are summed, and threads would not help

    starts = np.cumsum([0, *(len(each.places) for each in drawn)])
    places = np.concatenate([np.empty(0, np.int64), *(each.places for each in drawn)])
    shares = np.repeat([1 / each.queries for each in drawn], np.diff(starts)).astype(np.float32)
    summed = csr_array((shares, places, starts), shape=(len(drawn), len(maps))) @ maps
    return np.asarray(summed, np.float64).T


def text_rows(
    example: ExampleMaps, layers: Sequence[Layer], draws: Sequence[Encoded], on: str = TEXTS
) -> Iterator[pa.Table]:
    """Scores of all maps of a text, and what chance gives by draws of its tokens."""
    for reading in readings(example, layers, draws):
        for detector in detectors_of(side(reading.layers[0]), on):
            values = role_values(reading, detector, reading.keys(detector))
            if values is not None:
                yield _table(example.number, reading.layers, detector, values)


def role_values(reading: Reading, detector: Detector, keys: Sequence[Mask]) -> NDArray[np.float64] | None:
    """The numbers (number, head) of a detector; None if no query of the text, or of its draws, has a key."""
    key_cells = cells(keys[0], reading.allowed)
    if key_cells is None:
        return None
    if detector.chance == "even":
        return _with_even(reading.maps, key_cells)
    drawn = [each for mask in keys[1:] if (each := cells(mask, reading.allowed)) is not None]
    chance = cumulants(scores(reading.maps, drawn))
    return np.vstack([scores(reading.maps, [key_cells]).T, chance]) if np.isfinite(chance).all() else None


def _with_even(maps: NDArray[np.float32], key_cells: Cells) -> NDArray[np.float64]:
    chance = np.repeat([[key_cells.even], [np.nan], [np.nan]], maps.shape[1], 1)
    return np.vstack([scores(maps, [key_cells]).T, chance])


def _table(number: int, layers: Sequence[Layer], detector: Detector, values: NDArray[np.float64]) -> pa.Table:
    heads = [(layer.index, head) for layer in layers for head in range(layer.heads)]
    layer, head = np.array(heads, np.int32).T
    columns = {"example": np.full(len(heads), number), "layer": layer, "head": head}
    columns |= {"detector": [detector.name] * len(heads), **dict(zip(NUMBERS, values, strict=True))}
    return pa.table(columns, TABLE)


def image_rows(example: ExampleMaps, model: Model) -> Iterator[pa.Table]:
    """Scores of all maps of an image, by the detectors that make sense there."""
    assert model.grid is not None  # set for every model that reads images
    maps = by_cell(example, model.layers)
    for detector in DETECTORS:
        mask = None if detector.image is None else detector.image(model.grid)
        key_cells = None if mask is None else cells(mask, np.ones_like(mask))
        if key_cells is not None:
            yield _table(example.number, model.layers, detector, _with_even(maps, key_cells))


def part_table(source: Source, numbers: list[int], seed: int) -> pa.Table:
    """One row per example, head and detector."""
    tables = [TABLE.empty_table()]
    for example in sorted(source.maps(numbers), key=lambda each: each.number):
        if example.encoded is None:
            tables += image_rows(example, source.model)
        else:
            encoded = example.encoded
            draws = [shifted(encoded, seed, example.number, draw) for draw in range(DRAWS)]
            tables += text_rows(example, source.model.layers, draws)
    return pa.concat_tables(tables).combine_chunks()
