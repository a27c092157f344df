"""The tables of the stage, made from what was measured and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.schema import MISSING
from headatlas.compare.described import Differences, change, job, taken_up
from headatlas.compare.measured import Design, Measured
from headatlas.compare.patterns import Main, Shares
from headatlas.numeric.chance import above_zero, away_from_zero, false_discovery_rates
from headatlas.numeric.estimates import Estimates
from headatlas.stages.correlate.tables import FLAG, REAL, TEXT, WHOLE, make_table
from headatlas.wording.thresholds import CHANGED, GROUPS, SIGNIFICANT

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]
SMALL = pa.int32()
HEAD = {"step": SMALL, "layer": SMALL, "head": SMALL}
RANGE = ("shift", "shift_low", "shift_high", "noise", "noise_low", "noise_high", "noise_most", "excess", "excess_low",
         "excess_high", "p", "q")  # fmt: skip
DIFFERENCE = ("before", "after", "difference", "difference_low", "difference_high")

MODELS = {"model": SMALL, "role": TEXT, "name": TEXT, "label": TEXT, "model_name": TEXT, "source": TEXT,
          "examples": WHOLE, "layers": SMALL, "heads": SMALL}  # fmt: skip
HEADS = (
    HEAD | {"other_layer": SMALL, "other_head": SMALL} | dict.fromkeys(RANGE, REAL) | {"changed": FLAG}
    | {"statistic": TEXT} | dict.fromkeys(DIFFERENCE, REAL)
    | {"pattern_before": SMALL, "pattern_after": SMALL, "pattern_before_share": REAL, "pattern_after_share": REAL,
       "pattern_after_outside": REAL}
)  # fmt: skip
STATS = HEAD | {"statistic": TEXT} | dict.fromkeys(
    ("before", "after", "difference", "low", "high", "p", "q", "noise"), REAL
)  # fmt: skip
LAYERS = {"step": SMALL, "layer": SMALL} | dict.fromkeys(
    ("shift", "low", "high", "noise", "excess", "excess_low", "excess_high"), REAL
) | {"heads": SMALL, "changed": SMALL}  # fmt: skip
PATTERNS = {"step": SMALL, "cluster": SMALL} | dict.fromkeys(
    ("share_before", "share_after", "difference", "low", "high", "outside"), REAL
)  # fmt: skip
NUMBERS = pa.list_(REAL)
SERIES = {"layer": SMALL, "head": SMALL, "statistic": TEXT, "taken_up": SMALL, "values": NUMBERS, "low": NUMBERS,
          "high": NUMBERS}  # fmt: skip
MATCHES = HEAD | {"other_layer": SMALL, "other_head": SMALL, "distance": REAL, "rank": SMALL, "null_distance": REAL}
EXAMPLES = {"place": SMALL, "example": WHOLE, "id": TEXT, "window": SMALL, "tokens": pa.list_(TEXT),
            "target": pa.list_(TEXT), "shift": NUMBERS}  # fmt: skip


@dataclass(frozen=True)
class Moved:
    """How far the heads of one step moved, beside other seeds."""

    shift: Estimates
    noise: Estimates | None
    most: Floats  # the largest mean shift of a seed; NaN without seeds
    excess: Estimates
    p: Floats
    q: Floats

    @property
    def changed(self) -> list[bool | None]:
        """Whether each head moved more than seeds do; None if that is not known."""
        enough = (self.q < SIGNIFICANT) & (self.excess.mean >= CHANGED) & (self.shift.mean > self.most)
        return [bool(flag) if known else None for flag, known in zip(enough, np.isfinite(self.q), strict=True)]


def moved(measured: Measured, step: int) -> Moved:
    """The shift of a step (from 0), what seeds alone give, and how likely the excess is by chance."""
    parts, noise = measured.moved[step], measured.noise
    slots = measured.design.slots
    p = np.full(slots, np.nan) if noise is None else above_zero(parts.moments("excess"), GROUPS)
    most = np.full(slots, np.nan) if noise is None else noise.moments("each").mean.max(0)
    seeds = None if noise is None else noise.estimates("mean")
    q = false_discovery_rates(np.where(np.isfinite(parts.moments("shift").mean), p, np.nan))
    return Moved(parts.estimates("shift"), seeds, most, parts.estimates("excess"), p, q)


def models(design: Design) -> pa.Table:
    """One row per collection."""
    return make_table(
        [{"model": each.number, "role": each.role, "name": each.name, "label": each.label,
          "model_name": each.atlas.header["model"]["name"], "source": each.source,
          "examples": each.atlas.collection["counts"]["examples"],
          "layers": len(each.atlas.header["model"]["layers"]), "heads": len(each.heads)}
         for each in design.compared],
        MODELS,
    )  # fmt: skip


def heads(measured: Measured, mains: Sequence[tuple[Main, Main]] | None) -> pa.Table:
    """One row per step and head."""
    design, rows = measured.design, []
    for step, collection in enumerate(design.compared.steps):
        numbers = moved(measured, step)
        told = _changes(measured, step)
        for slot, (layer, head) in enumerate(design.compared.first.heads.tolist()):
            row = {"step": collection.number, "layer": layer, "head": head} | _counterpart(design, step, slot)
            row |= _moved_columns(numbers, slot) | told[slot]
            rows.append(row | _pattern_columns(None if mains is None else mains[step], slot))
    return make_table(rows, HEADS)


def _counterpart(design: Design, step: int, slot: int) -> dict[str, int | None]:
    place = int(design.matches[step].counterpart[slot])
    layer, head = design.compared.steps[step].heads[place].tolist() if place >= 0 else (None, None)
    return {"other_layer": layer, "other_head": head}


def _moved_columns(numbers: Moved, slot: int) -> dict[str, Any]:
    unknown = float("nan")
    columns: dict[str, Any] = {}
    for name, estimates in (("shift", numbers.shift), ("noise", numbers.noise), ("excess", numbers.excess)):
        for end, suffix in (("mean", ""), ("low", "_low"), ("high", "_high")):
            columns[name + suffix] = unknown if estimates is None else getattr(estimates, end)[slot]
    return columns | {"noise_most": numbers.most[slot], "p": numbers.p[slot], "q": numbers.q[slot],
                      "changed": numbers.changed[slot]}  # fmt: skip


def _changes(measured: Measured, step: int) -> list[dict[str, Any]]:
    """For every head the statistic that tells most of its change."""
    parts, names = measured.statistics[step], list(measured.design.statistics)
    before, after, difference = (parts.estimates(name) for name in ("before", "after", "difference"))
    signs, rows = parts.signs("difference"), []
    for slot in range(measured.design.slots):
        at = change(Differences(names, before.mean[slot], after.mean[slot], signs[slot]))
        values = [each[slot, at] for each in (before.mean, after.mean, *difference[:3])] if at is not None else []
        rows.append({"statistic": None if at is None else names[at]} | dict.fromkeys(DIFFERENCE, float("nan"))
                    | dict(zip(DIFFERENCE, values, strict=False)))  # fmt: skip
    return rows


def _pattern_columns(mains: tuple[Main, Main] | None, slot: int) -> dict[str, Any]:
    names = ("pattern_before", "pattern_after", "pattern_before_share", "pattern_after_share", "pattern_after_outside")
    if mains is None:
        return dict.fromkeys(names)
    before, after = mains
    clusters = [None if each.cluster[slot] == MISSING else each.cluster[slot] for each in mains]
    return dict(zip(names, [*clusters, before.share[slot], after.share[slot], after.outside[slot]], strict=True))


def statistics(measured: Measured) -> pa.Table:
    """One row per step, head and statistic; false discovery rates are over all rows of a step."""
    design = measured.design
    names, heads = list(design.statistics), design.compared.first.heads
    tables = []
    for step, parts in enumerate(measured.statistics):
        before, after, difference = (parts.estimates(name) for name in ("before", "after", "difference"))
        p = away_from_zero(parts.moments("difference"), GROUPS)
        numbers = (before.mean, after.mean, *difference[:3], p, false_discovery_rates(p), _seed_noise(measured))
        columns = dict(
            zip(list(STATS)[4:], (pa.array(each.ravel(), from_pandas=True) for each in numbers), strict=True)
        )
        place = {"step": np.full(p.size, design.compared.steps[step].number),
                 "layer": np.repeat(heads[:, 0], len(names)), "head": np.repeat(heads[:, 1], len(names)),
                 "statistic": names * len(heads)}  # fmt: skip
        tables.append(pa.table(place | columns).cast(pa.schema(STATS)))
    return pa.concat_tables(tables).combine_chunks()


def _seed_noise(measured: Measured) -> Floats:
    """How much each statistic differs between seeds (slot, statistic), whatever the direction; NaN without seeds."""
    if measured.seed_statistics is None:
        return np.full((measured.design.slots, len(measured.design.statistics)), np.nan)
    noise: Floats = np.abs(measured.seed_statistics.moments("difference").mean).mean(0)
    return noise


def layers(measured: Measured, head_rows: Rows) -> pa.Table:
    """One row per step and layer."""
    design, rows = measured.design, []
    for step, parts in zip(design.compared.steps, measured.moved, strict=True):
        shift, excess = parts.estimates("layer_shift"), parts.estimates("layer_excess")
        for place, layer in enumerate(design.layers.tolist()):
            inside = [row for row in head_rows if row["step"] == step.number and row["layer"] == layer]
            flags = [row["changed"] for row in inside if row["changed"] is not None]
            noise = float("nan") if measured.noise is None else measured.noise.moments("layer_mean").mean[place]
            rows.append(
                {"step": step.number, "layer": layer, "shift": shift.mean[place], "low": shift.low[place],
                 "high": shift.high[place], "noise": noise, "excess": excess.mean[place],
                 "excess_low": excess.low[place], "excess_high": excess.high[place],
                 "heads": sum(row["other_layer"] is not None for row in inside),
                 "changed": sum(flags) if flags else None}
            )  # fmt: skip
    return make_table(rows, LAYERS)


def patterns(shares: Mapping[int, Shares]) -> pa.Table:
    """One row per step and cluster."""
    rows = [
        {"step": step, "cluster": cluster, "share_before": each.before[at], "share_after": each.after[at],
         "difference": each.after[at] - each.before[at], "low": each.low[at], "high": each.high[at],
         "outside": each.outside[at]}
        for step, each in shares.items()
        for at, cluster in enumerate(each.clusters.tolist())
    ]  # fmt: skip
    return make_table(rows, PATTERNS)


def series(measured: Measured) -> pa.Table:
    """One row per head: the statistic that tells what it does at the end, at every model of the series.

    A head takes it up only if the final change is beyond 0 by its interval, and larger than that between seeds.
    """
    design, rows = measured.design, []
    names, noise = list(design.statistics), _seed_noise(measured)
    final = measured.statistics[-1]
    difference, signs = final.estimates("difference"), final.signs("difference")
    estimates = [final.estimates("before"), *(parts.estimates("after") for parts in measured.statistics)]
    for slot, (layer, head) in enumerate(design.compared.first.heads.tolist()):
        at = job(Differences(names, estimates[0].mean[slot], estimates[-1].mean[slot], signs[slot]))
        row: dict[str, Any] = {"layer": layer, "head": head, "statistic": None, "taken_up": None}
        row |= {"values": [], "low": [], "high": []}
        if at is not None:
            values = np.array([each.mean[slot, at] for each in estimates])
            beyond = difference.low[slot, at] * difference.high[slot, at] > 0
            beyond &= not abs(difference.mean[slot, at]) <= noise[slot, at]
            row |= {"statistic": names[at], "taken_up": taken_up(values) if beyond else None, "values": [*values]}
            row |= {end: [getattr(each, end)[slot, at] for each in estimates] for end in ("low", "high")}
        rows.append(row)
    return make_table(rows, SERIES)


def matches(design: Design) -> pa.Table:
    """One row per step and head of the first model; heads of the other that are left over come last."""
    rows: Rows = []
    heads = design.compared.first.heads.tolist()
    for step, (collection, matched) in enumerate(zip(design.compared.steps, design.matches, strict=True)):
        for slot, (layer, head) in enumerate(heads):
            row = {"step": collection.number, "layer": layer, "head": head} | _counterpart(design, step, slot)
            numbers = {"distance": matched.distance[slot], "rank": matched.rank[slot] or None}
            rows.append(row | numbers | {"null_distance": matched.null_distance[slot]})
        rest = np.setdiff1d(np.arange(len(collection.heads)), matched.counterpart)
        for layer, head in collection.heads[rest].tolist():
            row = {"step": collection.number, "other_layer": layer, "other_head": head}
            rows.append(dict.fromkeys(MATCHES) | row)
    return make_table(rows, MATCHES)
