"""Roles of heads: scores over texts, tested against chance; and the roles as a file for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headatlas.models.model import Layer
from headatlas.numeric.chance import above_draws, above_level, false_discovery_rates
from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.detection import NUMBERS
from headatlas.stages.probe.detectors import BY_NAME, DETECTORS, EFFECT, FALSE, REPEATED, TEXTS, Detector, detectors_of
from headatlas.stages.probe.measures import LEAST, PLACE
from headatlas.stages.probe.readings import side
from headatlas.stages.probe.source import Source
from headatlas.wording.heads import head_name

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

REAL, TEXT = pa.float64(), pa.string()
SCORES = [(name, REAL) for name in ("score", "low", "high", "chance", "effect", "relative", "p", "q")]
SCHEMA = pa.schema([*PLACE, ("detector", TEXT), ("on", TEXT), *SCORES, ("texts", pa.int64()), ("role", pa.bool_())])

Values = NDArray[np.float64]


def detected(source: Source, texts: pa.Table, repeated: pa.Table | None) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The table `probe_detect`, and how many heads have each role."""
    layers, image = source.model.layers, source.model.grid is not None
    tables = tested(layers, texts, source.groups, image=image)
    if repeated is not None:
        each_its_own = np.arange(repeated.num_rows)
        tables += tested(layers, repeated, each_its_own, REPEATED)
    table = with_roles(tables)
    few = len(np.unique(source.groups[source.numbers])) < LEAST
    return {"probe_detect": table}, {"roles": _roles(table), "effect": EFFECT, "false": FALSE, "few": few}


def with_roles(tables: list[pa.Table]) -> pa.Table:
    """All tests in one table, with the q of each among all, and whether the head has the role."""
    table = pa.concat_tables(tables).combine_chunks()
    q = false_discovery_rates(table["p"].to_numpy())
    role = (q < FALSE) & (table["effect"].to_numpy() >= EFFECT)
    for name, column in (("q", pa.array(q, from_pandas=True)), ("role", pa.array(role))):
        table = table.set_column(SCHEMA.get_field_index(name), name, column)
    return table


def _roles(table: pa.Table) -> dict[str, int]:
    """The number of heads of each role, on texts or on repeated tokens."""
    names = {*table["detector"].to_pylist()}
    with_role = table.filter(table["role"]).select(["detector", "layer", "head"]).to_pylist()
    counts = Counter(name for name, *_ in {tuple(row.values()) for row in with_role})
    return {detector.name: counts[detector.name] for detector in DETECTORS if detector.name in names}


def tested(
    layers: Sequence[Layer], rows: pa.Table, groups: NDArray[Any], on: str = TEXTS, *, image: bool = False
) -> list[pa.Table]:
    """For each detector one row per head of the layers for which it is defined; `groups` are those of all examples."""
    tables = []
    for detector in DETECTORS:
        defined = [
            layer for layer in layers if (detector.image if image else detector in detectors_of(side(layer), on))
        ]
        heads = [(layer.index, head) for layer in defined for head in range(layer.heads)]
        if heads:
            detector_rows = rows.filter(pc.equal(rows["detector"], detector.name))
            tables.append(_head_rows(heads, detector_rows, groups, detector, on))
    return tables


def _head_rows(
    heads: list[tuple[int, int]], rows: pa.Table, groups: NDArray[Any], detector: Detector, on: str
) -> pa.Table:
    examples, values = by_head(heads, rows, NUMBERS)
    score, chance, *cumulants = values
    source = groups[examples]
    scores, chances = mean_over_sources(score, source, LEAST), mean_over_sources(chance, source, LEAST)
    p = above_level(score - chance, source, LEAST)
    if detector.chance == "tokens":  # more than other tokens of these texts give, and so in texts like these
        p = np.fmax(p, above_draws(score - chance, np.stack(cumulants), source, LEAST))
    effect = scores.mean - chances.mean
    numbers = {"score": scores.mean, "low": scores.low, "high": scores.high, "chance": chances.mean, "effect": effect}
    numbers |= {"relative": effect / (1 - chances.mean), "p": p, "q": p}
    layer, head = np.array(heads).T
    columns = {"layer": layer, "head": head, "detector": [detector.name] * len(heads), "on": [on] * len(heads)}
    columns |= {name: pa.array(column, from_pandas=True) for name, column in numbers.items()}  # NaN: null
    return pa.table({**columns, "texts": scores.sources, "role": np.zeros(len(heads), bool)}, schema=SCHEMA)


def by_head(heads: list[tuple[int, int]], rows: pa.Table, names: Sequence[str]) -> tuple[NDArray[np.int64], Values]:
    """The numbers of the examples, and the values (name, example, head) of some columns."""
    examples, place = np.unique(rows["example"].to_numpy(), return_inverse=True)
    column = {head: number for number, head in enumerate(heads)}
    head = [column[each] for each in zip(rows["layer"].to_pylist(), rows["head"].to_pylist(), strict=True)]
    values: Values = np.full((len(names), len(examples), len(heads)), np.nan)
    for number, name in enumerate(names):
        values[number, place, head] = rows[name].to_numpy()
    return examples, values


def heads_json(atlas: Atlas) -> dict[str, Any]:
    """The roles of every head that has one, the strongest first, with what was read and how."""
    table = atlas.table("probe_detect")
    heads: dict[str, list[dict[str, Any]]] = {}
    rows = sorted(table.filter(table["role"]).to_pylist(), key=lambda row: (row["layer"], row["head"], -row["effect"]))
    for row in rows:
        heads.setdefault(head_name(row["layer"], row["head"]).replace("·", "."), []).append(_role(row))
    model, recipe = atlas.header["model"], atlas.results("probe")["detect"]["recipe"]
    known = {"model": {name: model[name] for name in ("name", "source", "revision", "family", "hash")}}
    return {**known, "dataset": atlas.header["data"], "recipe": recipe, "heads": heads}


def _role(row: dict[str, Any]) -> dict[str, Any]:
    names = ("score", "chance", "effect", "p", "q", "texts")
    role = {"role": row["detector"], "name": BY_NAME[row["detector"]].called, "on": row["on"]}
    return {**role, **{name: row[name] for name in names}, "interval": [row["low"], row["high"]]}
