"""Heads that rest more where their role does not apply: over texts, tested, and beside heads without the role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headatlas.models.model import Layer
from headatlas.numeric.chance import above_level, false_discovery_rates
from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.detectors import DETECTORS, FALSE
from headatlas.stages.probe.measures import LEAST, PLACE
from headatlas.stages.probe.resting import RESTED, RESTS, content_detectors
from headatlas.stages.probe.roles import by_head, tested, with_roles

REAL = pa.float64()
MEANS = ("effect", "gain", "beyond")  # with intervals
NUMBERS = (
    "applies",
    "otherwise",
    "chance",
    "others",
    *(f"{name}{end}" for name in MEANS for end in ("", "_low", "_high")),
)
SCHEMA = pa.schema([
    *PLACE, ("detector", pa.string()), ("rest", pa.string()), ("role", pa.bool_()), ("score", REAL),
    *((name, REAL) for name in (*NUMBERS, "p", "q")), ("texts", pa.int64()), ("parks", pa.bool_()),
])  # fmt: skip

PERMUTATIONS = 999

Heads = list[tuple[int, int]]


def parked(layers: Sequence[Layer], rows: pa.Table, groups: NDArray[Any]) -> pa.Table:
    """One row per head, role and what is rested on; `groups` are those of all examples."""
    scores = with_roles(tested(layers, _where(rows, rest=""), groups)).to_pylist()
    known = {(row["layer"], row["head"], row["detector"]): row for row in scores}
    tables = [SCHEMA.empty_table()]
    for detector in DETECTORS:
        heads = [(layer.index, head) for layer in layers if detector in content_detectors(layer)
                 for head in range(layer.heads)]  # fmt: skip
        for rest in RESTS if heads else ():
            role_rows = _where(rows, detector=detector.name, rest=rest)
            if role_rows.num_rows:
                role = [known[*head, detector.name] for head in heads]
                tables.append(_head_rows(heads, role_rows, groups, detector.name, rest, role))
    return _with_tests(pa.concat_tables(tables).combine_chunks())


def _where(rows: pa.Table, **equal: str) -> pa.Table:
    for name, value in equal.items():
        rows = rows.filter(pc.equal(rows[name], value))
    return rows


def _head_rows(
    heads: Heads, rows: pa.Table, groups: NDArray[Any], detector: str, rest: str, role: list[dict[str, Any]]
) -> pa.Table:
    examples, (applies, otherwise, chance, beyond) = by_head(heads, rows, RESTED)
    source, layer, head = groups[examples], *np.array(heads).T
    effect = otherwise - applies - chance
    others = without_role(effect, layer, np.array([row["role"] for row in role]))
    values = {"applies": applies, "otherwise": otherwise, "chance": chance, "others": others}
    numbers = {name: mean_over_sources(value, source, LEAST).mean for name, value in values.items()}
    for name, value in zip(MEANS, (effect, effect - others, beyond), strict=True):
        mean = mean_over_sources(value, source, LEAST)
        numbers |= {name: mean.mean, f"{name}_low": mean.low, f"{name}_high": mean.high}
    numbers |= dict.fromkeys(("p", "q"), above_level(effect - others, source, LEAST))
    columns = {"layer": layer, "head": head, "detector": [detector] * len(heads), "rest": [rest] * len(heads)}
    columns |= {name: [row[name] for row in role] for name in ("role", "score")}
    columns |= {name: pa.array(column, from_pandas=True) for name, column in numbers.items()}  # NaN: null
    texts = mean_over_sources(effect, source, LEAST).sources
    return pa.table({**columns, "texts": texts, "parks": np.zeros(len(heads), bool)}, schema=SCHEMA)


def without_role(values: NDArray[Any], layer: NDArray[Any], role: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For each value (example, head) the mean over the other heads of its layer that do not have the role.

    These attend from the same tokens at the same places: what they do as well is not due to the role.

    >>> without_role(np.array([[5.0, 1.0, 3.0, 7.0]]), np.array([0, 0, 0, 1]), np.array([True, False, False, False]))
    array([[ 2.,  3.,  1., nan]])
    """
    others = (layer[:, None] == layer) & ~role[:, None] & ~np.eye(len(layer), dtype=bool)  # (other, head)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = np.nan_to_num(values) @ others / (np.isfinite(values) @ others.astype(float))
    return means


def _with_tests(table: pa.Table) -> pa.Table:
    """The q of each test among all, and whether the head parks there."""
    q = false_discovery_rates(table["p"].to_numpy())
    parks = (q < FALSE) & (table["effect_low"].to_numpy() > 0)
    for name, column in (("q", pa.array(q, from_pandas=True)), ("parks", pa.array(parks))):
        table = table.set_column(SCHEMA.get_field_index(name), name, column)
    return table


def rests(rows: pa.Table, groups: NDArray[Any]) -> dict[str, float]:
    """The share of attention of all heads on each thing that they may rest on, the largest first."""
    shares = {}
    for rest in RESTS:
        rest_rows = _where(rows, detector="", rest=rest)
        if rest_rows.num_rows:
            heads = sorted({*zip(rest_rows["layer"].to_pylist(), rest_rows["head"].to_pylist(), strict=True)})
            examples, (values,) = by_head(heads, rest_rows, ["otherwise"])
            shares[rest] = float(np.nanmean(mean_over_sources(values, groups[examples], LEAST).mean))
    return dict(sorted(shares.items(), key=lambda share: -share[1]))


def of_roles(table: pa.Table, seed: int) -> list[dict[str, Any]]:
    """For each role that a head has, and what is rested on: its heads beside the other heads of their layers."""
    roles = []
    for (detector, rest), rows in table.to_pandas().dropna(subset="effect").groupby(["detector", "rest"], sort=False):
        role, layer, effect = (rows[name].to_numpy() for name in ("role", "layer", "effect"))
        if role.any():
            having = rows[role]
            numbers = {"heads": len(having), "parking": having["parks"].sum(), "beyond": (having.beyond_low > 0).sum()}
            means = {"effect": having["effect"].mean(), "others": having["others"].mean()}
            p = above_other_heads(effect, layer, role, seed)
            known: dict[str, Any] = {name: int(number) for name, number in numbers.items()}
            known |= {name: float(mean) for name, mean in means.items()}
            roles.append({"detector": detector, "rest": rest, **known, "p": p})
    return roles


def above_other_heads(effect: NDArray[Any], layer: NDArray[Any], role: NDArray[np.bool_], seed: int) -> float:
    """One-sided p that heads with a role have larger values, by permuting heads within their layers.

    >>> values, layers = np.arange(20.0), np.repeat([0, 1], 10)
    >>> above_other_heads(values, layers, values % 10 > 7, 0) < 0.05, above_other_heads(values, layers, values > 9, 0)
    (True, 1.0)
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random((PERMUTATIONS, len(layer))), np.broadcast_to(layer, (PERMUTATIONS, len(layer)))))
    by_layer = np.argsort(layer, kind="stable")
    drawn = effect[order] @ role[by_layer]  # a permuted head takes the place of each
    return float((1 + (drawn >= effect @ role - 1e-12).sum()) / (1 + PERMUTATIONS))
