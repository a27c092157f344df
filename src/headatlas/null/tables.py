"""The tables of null models: shares of each cluster, the jobs of heads, and how similar heads of one layer are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.schema import MISSING, NOISE
from headatlas.numeric.metrics import entropy, interval
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.factors import head_tables
from headatlas.stages.correlate.heads import shares
from headatlas.stages.correlate.locality import locality
from headatlas.stages.correlate.tables import CLUSTER_SHARES, FLAG, LOCALITY, REAL, TEXT, WHOLE, make_table
from headatlas.wording import nulls
from headatlas.wording.thresholds import ONE_JOB

Array = NDArray[Any]

SHARES = {
    "kind": TEXT, "cluster": pa.int32(), "maps": WHOLE, "share": REAL, "share_real": REAL, "low": REAL, "high": REAL,
    "ratio": REAL, "kept": REAL,
}  # fmt: skip
HEADS = {
    "kind": TEXT, "layer": pa.int32(), "head": pa.int32(), "main_cluster": pa.int32(), "main_share": REAL,
    "entropy": REAL, "one_job": FLAG, "outside": REAL, "shares": CLUSTER_SHARES,
}  # fmt: skip
LEAVES = {"kind": TEXT, "leaf": pa.int32(), "maps": WHOLE, "maps_real": WHOLE}


@dataclass(frozen=True)
class Maps:
    """Clusters of one kind of maps (example, slot), see `Assigned`; `leaves` is None without a tree."""

    labels: Array
    patterns: Array
    leaves: Array | None = None


@dataclass(frozen=True)
class Design:
    """What all kinds of maps share: the number of clusters, layer and head of each slot, and examples of one text."""

    clusters: int
    layer: Array
    head: Array
    group: Array  # (example,)
    draws: Draws

    def coded(self, labels: Array) -> Coded:
        """Labels (example, slot) as codes: clusters, then noise; -1 for a map that does not exist."""
        codes = np.where(labels == NOISE, self.clusters, np.where(labels == MISSING, -1, labels)).astype(np.int16)
        return Coded(codes, np.append(np.arange(self.clusters), NOISE), self.layer, self.head, self.group)


def null_shares(kinds: Mapping[str, Maps], design: Design) -> pa.Table:
    """A row for each null model and cluster, and one, without a cluster, for maps that are in the reach of none.

    The share of the model itself is counted by the same rule on the same examples. `kept` is the share of its maps in
    the cluster that are in it under the null model, too: the same head on the same example.
    """
    counts = {kind: design.coded(maps.patterns).examples() for kind, maps in kinds.items()}
    real = _shares(counts[nulls.REAL].sum(0))
    rows = []
    for kind in (kind for kind in kinds if kind != nulls.REAL):
        share = _shares(counts[kind].sum(0))
        drawn = [_shares(weights[design.group] @ counts[kind]) for weights in design.draws]
        low, high = interval(np.array(drawn).reshape(-1, len(share)))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = share / real
        rows += [
            {"kind": kind, "cluster": cluster, "maps": int(counts[kind][:, code].sum()), "share": share[code],
             "share_real": real[code], "low": low[code], "high": high[code], "ratio": ratio[code],
             "kept": _kept(kinds[nulls.REAL], kinds[kind], NOISE if cluster is None else cluster)}
            for code, cluster in enumerate([*range(design.clusters), None])
        ]  # fmt: skip
    return make_table(rows, SHARES)


def _kept(real: Maps, other: Maps, cluster: int) -> float:
    """The share of the maps of a cluster that are in it under a null model, too; NaN if there are none."""
    members = real.patterns == cluster
    return float((other.patterns[members] == cluster).mean()) if members.any() else float("nan")


def _shares(counts: Array) -> Array:
    shares_of_all: Array = counts / max(1, counts.sum())
    return shares_of_all


def null_leaves(kinds: Mapping[str, Maps], leaves: int) -> pa.Table:
    """A row for each null model and leaf of a tree: maps of the null model, and of the model itself.

    Counts of a node are the sums over its leaves. Maps that belong to no cluster of the default cut are in no leaf.
    """
    counts = {kind: _counts(maps.leaves, leaves) for kind, maps in kinds.items()}
    rows = [
        {"kind": kind, "leaf": leaf, "maps": int(counts[kind][leaf]), "maps_real": int(counts[nulls.REAL][leaf])}
        for kind in kinds
        if kind != nulls.REAL
        for leaf in range(leaves)
    ]
    return make_table(rows, LEAVES)


def _counts(labels: Array | None, count: int) -> Array:
    """How many maps have each label from 0 to `count` - 1."""
    assert labels is not None  # maps of a tree have leaves
    return np.bincount(labels[labels >= 0], minlength=count)


def null_heads(kinds: Mapping[str, Maps], design: Design) -> pa.Table:
    """A row for each kind of maps, the model itself first, and head."""
    rows: list[dict[str, Any]] = []
    for kind, maps in kinds.items():
        profile = shares(design.coded(maps.labels).heads())
        outside = (maps.patterns == NOISE).sum(0) / np.maximum(1, (maps.patterns != MISSING).sum(0))
        for slot, (parts, spread) in enumerate(zip(profile, entropy(profile), strict=True)):
            main = int(parts.argmax())
            rows.append(
                {"kind": kind, "layer": design.layer[slot], "head": design.head[slot],
                 "main_cluster": main if main < design.clusters else NOISE, "main_share": parts[main],
                 "entropy": spread, "one_job": bool(parts[main] >= ONE_JOB and main < design.clusters),
                 "outside": outside[slot],
                 "shares": [{"cluster": NOISE if code == design.clusters else code, "share": share}
                            for code, share in enumerate(parts)]}
            )  # fmt: skip
    return make_table(rows, HEADS)


def null_locality(kinds: Mapping[str, Maps], design: Design, permutations: int, seed: int) -> pa.Table:
    """A row for each kind of maps, the model itself first, and kind of neighbors."""
    rows: list[dict[str, Any]] = []
    for kind, maps in kinds.items():
        coded = design.coded(maps.labels)
        tests = locality(coded.heads(), design.layer, permutations, seed, head_tables(coded, design.draws))
        rows += [{"kind": kind} | vars(test) for test in tests]
    return make_table(rows, {"kind": TEXT} | LOCALITY)


def from_parts(table: pa.Table, kinds: Sequence[str]) -> dict[str, Maps]:
    """The labels of each kind of maps from the rows of all parts."""
    names = np.array(table["kind"].to_pylist(), object)
    columns = {name: table[name] for name in ("labels", "patterns", "leaves") if table[name].null_count == 0}
    arrays = {name: np.array(column.to_pylist(), np.int32) for name, column in columns.items()}
    return {kind: Maps(**{name: array[names == kind] for name, array in arrays.items()}) for kind in kinds}
