"""How much of their attention queries rest on separators or on the first token, with and without something to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.models.encode import Encoded
from headatlas.models.model import Layer
from headatlas.models.shuffle import shifted
from headatlas.stages.probe.detection import DRAWS, NUMBERS, Cells, role_values, scores
from headatlas.stages.probe.detection import TABLE as ROLES
from headatlas.stages.probe.detectors import Detector, detectors_of
from headatlas.stages.probe.key_sets import Labels, Mask
from headatlas.stages.probe.readings import Reading, readings, side
from headatlas.stages.probe.source import ExampleMaps, Source

RESTS = ("separators", "first")  # what heads may rest on
RESTED = ("applies", "otherwise", "moved", "beyond")  # `moved`: what the difference is if tokens are moved
TABLE = pa.schema([*ROLES, ("rest", pa.string()), *((name, pa.float64()) for name in RESTED)])

Places = NDArray[np.bool_]  # (query) or (key)
Values = NDArray[np.float64]


class Contrast(NamedTuple):
    """The queries that can attend to a key of a role, and those that cannot; and the cells of such keys."""

    applies: Places
    otherwise: Places
    cells: Cells


def contrast(keys: Mask, allowed: Mask, counted: Places) -> Contrast | None:
    """Of the queries that count; None if all of them have a key, or none has."""
    count = keys.sum(1)
    applies, otherwise = counted & (count > 0) & (count < allowed.sum(1)), counted & (count == 0)
    if not applies.any() or not otherwise.any():
        return None
    return Contrast(applies, otherwise, Cells(np.flatnonzero(keys & applies[:, None]), int(applies.sum()), np.nan))


def rest_keys(keys: Labels, rest: str) -> Places:
    """The keys that are rested on."""
    first: Places = np.arange(len(keys.ids)) == 0
    others: Places = keys.special & ~first
    return first if rest == "first" else others


def rested(maps: NDArray[np.float32], contrasts: Sequence[Contrast], attention: Values) -> Values:
    """What queries rest on (number, draw, head): `applies`, `otherwise`, their difference, and that of what is left.

    `attention` (query, head) is that to the tokens that are rested on. What is left is attention that is not on keys
    of the role: of it, as large a share is rested on in both kinds of queries if the rest is spread as ever.
    """
    applies, otherwise = (
        np.stack([where / where.sum() for where in each]) @ attention
        for each in ([each.applies for each in contrasts], [each.otherwise for each in contrasts])
    )
    left = 1 - scores(maps, [each.cells for each in contrasts]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(left > 1e-6, applies / left, np.nan)
    return np.stack([applies, otherwise, otherwise - applies, otherwise - share])


def rest_values(reading: Reading, keys: Sequence[Mask], rest: str) -> Values | None:
    """The numbers `RESTED` (number, head) of a role; None if the text, or its draws, have nothing to compare."""
    counted, attention = resting(reading, rest)
    observed, *drawn = (contrast(mask, reading.allowed, counted) for mask in keys)
    known = [each for each in drawn if each is not None]
    if observed is None or not known:
        return None
    applies, otherwise, difference, beyond = rested(reading.maps, [observed, *known], attention)
    return np.stack([applies[0], otherwise[0], difference[1:].mean(0), beyond[0] - beyond[1:].mean(0)])


def resting(reading: Reading, rest: str) -> tuple[Places, Values]:
    """The queries that count, and their attention (query, head) to what is rested on.

    These are tokens of the text that can attend to it: special tokens and the first one do other things.
    """
    queries, keys = reading.sides[0]
    marked = rest_keys(keys, rest)
    maps = reading.maps.reshape(*reading.allowed.shape, -1)
    return queries.inner & (reading.allowed & marked).any(1), maps[:, marked].sum(1, dtype=np.float64)


def text_rows(example: ExampleMaps, layers: Sequence[Layer], draws: Sequence[Encoded]) -> Iterator[pa.Table]:
    """Rows of maps: scores of a role have no `rest`, and those of all queries, whatever their keys, no `detector`."""
    for reading in readings(example, layers, draws):
        for rest in RESTS:
            counted, attention = resting(reading, rest)
            if counted.any():
                yield _table(example.number, reading, rest=rest, otherwise=attention[counted].mean(0))
        for detector in content_detectors(reading.layers[0]):
            keys = reading.keys(detector)
            values = role_values(reading, detector, keys)
            if values is not None:
                yield _table(example.number, reading, detector.name, **dict(zip(NUMBERS, values, strict=True)))
                for rest in RESTS:
                    if (values := rest_values(reading, keys, rest)) is not None:
                        known = dict(zip(RESTED, values, strict=True))
                        yield _table(example.number, reading, detector.name, rest, **known)


def content_detectors(layer: Layer) -> list[Detector]:
    """Roles that apply to some tokens and not to others, by what these are."""
    return [detector for detector in detectors_of(side(layer)) if detector.chance == "tokens"]


def _table(number: int, reading: Reading, detector: str = "", rest: str = "", **known: Values) -> pa.Table:
    """Rows of all heads of a reading; numbers that are not given are unknown."""
    heads = [(layer.index, head) for layer in reading.layers for head in range(layer.heads)]
    layer, head = np.array(heads, np.int32).T
    same = {"example": number, "detector": detector, "rest": rest}
    columns = dict.fromkeys(TABLE.names, np.full(len(heads), np.nan)) | {"layer": layer, "head": head, **known}
    return pa.table(columns | {name: [value] * len(heads) for name, value in same.items()}, TABLE)


def part_table(source: Source, numbers: list[int], seed: int) -> pa.Table:
    """One row per example, head, role and what is rested on."""
    tables = [TABLE.empty_table()]
    for example in sorted(source.maps(numbers), key=lambda each: each.number):
        assert example.encoded is not None  # a text
        draws = [shifted(example.encoded, seed, example.number, draw) for draw in range(DRAWS)]
        tables += text_rows(example, source.model.layers, draws)
    return pa.concat_tables(tables).combine_chunks()
