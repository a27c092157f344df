"""The tables of the stage, made from what was counted, tested and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.numeric.metrics import entropy
from headatlas.stages.correlate.changes import Share
from headatlas.stages.correlate.contrasts import Statistics
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.distinctions import name_text
from headatlas.stages.correlate.exemplars import exemplars, unlike
from headatlas.stages.correlate.factors import Factor
from headatlas.stages.correlate.heads import related, shares
from headatlas.stages.correlate.locality import Locality
from headatlas.stages.correlate.names import Name
from headatlas.wording import NOISE
from headatlas.wording.thresholds import ONE_JOB, SIGNIFICANT

Array = NDArray[Any]

WHOLE, REAL, TEXT, FLAG = pa.int64(), pa.float64(), pa.string(), pa.bool_()
REASON = pa.struct({"statistic": TEXT} | dict.fromkeys(("mean", "rest", "delta", "low", "high"), REAL))
PLACE = pa.struct({"layer": pa.int32(), "head": pa.int32()})
DISTINCTION = pa.struct(
    {"kind": TEXT, "statistic": TEXT, "higher": FLAG, "value": REAL, "others": REAL, "heads": pa.list_(PLACE),
     "layers": pa.list_(pa.int32()), "examples": pa.list_(WHOLE)}
)  # fmt: skip
NAME = {
    "phrases": pa.list_(TEXT), "reasons": pa.list_(REASON), "named": FLAG, "statistics": pa.int32(),
    "distinction": DISTINCTION,
}  # fmt: skip
CLUSTER_SHARES = pa.list_(pa.struct({"cluster": pa.int32(), "share": REAL}))
CELLS = {
    "cluster": pa.int32(), "factor": TEXT, "value": TEXT, "layer": pa.int32(), "head": pa.int32(), "maps": WHOLE,
    "expected": REAL, "share_of_cluster": REAL, "share_of_value": REAL, "low": REAL, "high": REAL, "ratio": REAL,
    "residual": REAL, "p": REAL, "q": REAL, "significant": FLAG,
}  # fmt: skip
ASSOCIATIONS = {
    "factor": TEXT, "cramers_v": REAL, "low": REAL, "high": REAL, "chance": REAL, "ami": REAL, "p": REAL,
    "permutations": pa.int32(), "n": WHOLE, "shuffled": TEXT, "untested": TEXT, "binned": FLAG, "left_out": WHOLE,
    "explained": REAL, "explained_low": REAL, "explained_high": REAL, "explained_chance": REAL, "explained_p": REAL,
    "within_heads": FLAG,
}  # fmt: skip
EVIDENCE = {"cluster": pa.int32(), "statistic": TEXT} | dict.fromkeys(
    ("mean", "rest_mean", "delta", "low", "high"), REAL
)
EXEMPLARS = {
    "cluster": pa.int32(), "kind": TEXT, "rank": pa.int32(), "example": WHOLE, "layer": pa.int32(),
    "head": pa.int32(), "distance": REAL,
}  # fmt: skip
PROFILES = {
    "layer": pa.int32(), "head": pa.int32(), "name": TEXT, "main_cluster": pa.int32(), "main_share": REAL,
    "entropy": REAL, "entropy_relative": REAL, "one_job": FLAG,
    "shares": CLUSTER_SHARES,
}  # fmt: skip
RELATED = {
    "layer": pa.int32(), "head": pa.int32(), "rank": pa.int32(), "other_layer": pa.int32(), "other_head": pa.int32(),
    "distance": REAL, "closer_than": REAL,
}  # fmt: skip
LOCALITY = {"neighbors": TEXT} | dict.fromkeys(
    ("similarity", "all_pairs", "difference", "low", "high", "p"), REAL
) | {"permutations": pa.int32(), "untested": TEXT}  # fmt: skip

NODE_NAMES = {"node": pa.int32(), "name": TEXT} | NAME


def plain(value: Any) -> Any:
    """A value as stored in a table: unknown values are null, not NaN, in lists and structs too."""
    if isinstance(value, float | np.floating):
        return None if not np.isfinite(value) else float(value)
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def make_table(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> pa.Table:
    """A table of these fields from rows."""
    columns = {name: pa.array([plain(row[name]) for row in rows], kind) for name, kind in fields.items()}
    return pa.table(columns)


def cells(maps: Coded, factors: Sequence[Factor]) -> pa.Table:
    """A row for each cluster and value of head, layer and columns."""
    parts = [_cells_of(maps, factor) for factor in factors if factor.cells and factor.values]
    return pa.concat_tables(parts) if parts else make_table([], CELLS)


def _cells_of(maps: Coded, factor: Factor) -> pa.Table:
    values, kinds = factor.table.shape
    value_index = np.repeat(np.arange(values), kinds)
    layer = {"head": maps.layer, "layer": np.unique(maps.layer)}.get(factor.name)
    table, numbers = factor.table, factor.cells
    with np.errstate(invalid="ignore", divide="ignore"):
        columns: dict[str, Any] = {
            "cluster": np.tile(maps.clusters, values),
            "factor": [factor.name] * values * kinds,
            "value": [factor.values[index] for index in value_index],
            "layer": None if layer is None else layer[value_index],
            "head": maps.head[value_index] if factor.name == "head" else None,
            "maps": table,
            "share_of_cluster": table / table.sum(0),
            "share_of_value": table / table.sum(1, keepdims=True),
            "ratio": table / numbers["expected"],
            "significant": numbers["q"] < SIGNIFICANT,
            **numbers,
        }
    return pa.table({name: _cast(columns[name], kind, values * kinds) for name, kind in CELLS.items()})


def _cast(values: Any, kind: Any, count: int) -> Any:
    if values is None:
        return pa.nulls(count, kind)
    flat = np.ravel(values) if isinstance(values, np.ndarray) else values
    bad = ~np.isfinite(flat) if isinstance(flat, np.ndarray) and flat.dtype.kind == "f" else None
    return pa.array(flat, mask=bad).cast(kind)


def associations(factors: Sequence[Factor], shares_explained: Mapping[str, Share]) -> pa.Table:
    """A row for each factor, with the share of the variance of vectors that it explains, where that is known."""
    rows = [
        {"factor": factor.name, "cramers_v": factor.v, "low": factor.low, "high": factor.high,
         "chance": factor.chance, "ami": factor.ami, "p": factor.p, "permutations": factor.permutations,
         "n": int(factor.table.sum()), "shuffled": factor.shuffled, "untested": factor.untested,
         "binned": factor.binned, "left_out": factor.left_out}
        | _explained(shares_explained.get(factor.name))
        for factor in factors
    ]  # fmt: skip
    return make_table(rows, ASSOCIATIONS)


def _explained(share: Share | None) -> dict[str, Any]:
    fields = {"explained": "explained", "low": "explained_low", "high": "explained_high", "chance": "explained_chance"}
    fields |= {"p": "explained_p", "within_heads": "within_heads"}
    return {name: getattr(share, field, None) for field, name in fields.items()}


def evidence(maps: Coded, statistics: Statistics) -> pa.Table:
    """A row for each cluster and statistic, the largest effect first."""
    rows = []
    for code, cluster in enumerate(maps.clusters.tolist()):
        ranked = sorted(statistics.evidence(code), key=lambda item: -abs(np.nan_to_num(item.delta)))
        rows += [
            {"cluster": cluster, "statistic": item.statistic, "mean": item.mean, "rest_mean": item.rest,
             "delta": item.delta, "low": item.low, "high": item.high}
            for item in ranked
        ]  # fmt: skip
    return make_table(rows, EVIDENCE)


def examples_of(maps: Coded, distance: Array, count: int) -> pa.Table:
    """Typical and unlike maps of each cluster; `distance` is (example, slot)."""
    rows = []
    for code, cluster in enumerate(maps.clusters.tolist()):
        example, slot = np.nonzero(maps.codes == code)
        distances = distance[example, slot].astype(np.float64)
        for kind, choose in (("typical", exemplars), ("unlike", unlike)):
            for rank, place in enumerate(choose(distances, example, slot, count)):
                where = {"layer": maps.layer[slot[place]], "head": maps.head[slot[place]]}
                rows.append(
                    {"cluster": cluster, "kind": kind, "rank": rank, "example": example[place],
                     "distance": distances[place]} | where
                )  # fmt: skip
    return make_table(rows, EXEMPLARS)


def profiles(maps: Coded, named: Mapping[int, Name]) -> pa.Table:
    """A row for each head, with the share of its maps in each cluster."""
    profile = shares(maps.heads())
    spread = entropy(profile)
    rows = []
    for slot, parts in enumerate(profile):
        main = int(maps.clusters[parts.argmax()])
        rows.append(
            {"layer": maps.layer[slot], "head": maps.head[slot], "main_cluster": main, "main_share": parts.max(),
             "name": cluster_text(main, named[main]), "entropy": spread[slot],
             "entropy_relative": spread[slot] / np.log(maps.kinds) if maps.kinds > 1 else 0.0,
             "one_job": bool(parts.max() >= ONE_JOB and main != schema.NOISE),
             "shares": [{"cluster": int(cluster), "share": parts[code]} for code, cluster in enumerate(maps.clusters)]}
        )  # fmt: skip
    return make_table(rows, PROFILES)


def related_heads(maps: Coded, distances: Array) -> pa.Table:
    """A row for each head and rank: the heads most like it."""
    rows = [
        {"layer": maps.layer[slot], "head": maps.head[slot], "rank": rank, "other_layer": maps.layer[other],
         "other_head": maps.head[other], "distance": distance, "closer_than": closer_than}
        for slot, rank, other, distance, closer_than in related(distances)
    ]  # fmt: skip
    return make_table(rows, RELATED)


def cluster_text(cluster: int, name: Name) -> str:
    """What a cluster is called."""
    return NOISE if cluster == schema.NOISE else name_text(name)


def name_columns(name: Name) -> dict[str, Any]:
    """The columns that hold a name and its reasons."""
    reasons = [{key: value for key, value in asdict(reason).items() if key != "fits"} for reason in name.reasons]
    return {
        "phrases": list(name.phrases), "reasons": reasons, "named": name.named, "statistics": name.statistics,
        "distinction": name.distinction,
    }  # fmt: skip


def node_names(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A row for each node of a tree that has a name."""
    return make_table(rows, NODE_NAMES)


def neighbors(localities: Sequence[Locality]) -> pa.Table:
    """A row for each kind of neighbors."""
    return make_table([vars(locality) for locality in localities], LOCALITY)
