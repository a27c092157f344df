"""Null models of a clustering: the tables of the stage `null`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.web.api.payloads.nulls import NullJobs, NullLocality, NullModels, NullNodes, NullShare, NullValue
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known
from headatlas.wording.nulls import REAL

Row = dict[str, Any]


def null_models(snapshot: Snapshot, clustering: str) -> NullModels | None:
    """What holds for all patterns together; None if there are no null models."""
    if clustering not in snapshot.atlas.results("null"):
        return None
    facts = snapshot.atlas.facts("null", clustering)
    heads = _rows(snapshot, "null_heads", clustering)
    return NullModels(
        kinds=facts["kinds"],
        examples=facts["examples"],
        jobs=[_jobs(kind, [row for row in heads if row["kind"] == kind]) for kind in facts["kinds"]],
        locality=[
            NullLocality(
                kind=row["kind"], neighbors=row["neighbors"], similarity=known(row["similarity"]),
                all_pairs=known(row["all_pairs"]),
            )
            for row in _rows(snapshot, "null_locality", clustering)
        ],
        nodes=_nodes(snapshot, clustering),
    )  # fmt: skip


def null_shares(snapshot: Snapshot, clustering: str) -> dict[int, list[NullShare]]:
    """The shares of each cluster under every null model; empty if there are none."""
    shares: dict[int, list[NullShare]] = defaultdict(list)
    for row in _rows(snapshot, "null_shares", clustering):
        if row["cluster"] is not None:
            numbers = {name: known(row[name]) for name in ("low", "high", "kept")}
            share = NullShare(kind=row["kind"], share=row["share"], share_real=row["share_real"], **numbers)
            shares[row["cluster"]].append(share)
    return shares


def head_shares(snapshot: Snapshot, clustering: str, cluster: int) -> dict[tuple[int, int], list[NullValue]]:
    """The share of each head's maps in a cluster, under every null model; empty if there are none."""
    shares: dict[tuple[int, int], list[NullValue]] = defaultdict(list)
    for row in _rows(snapshot, "null_heads", clustering):
        for part in row.get("shares", []):  # not in results of earlier versions
            if part["cluster"] == cluster:
                shares[row["layer"], row["head"]].append(NullValue(kind=row["kind"], share=part["share"]))
    return shares


def _rows(snapshot: Snapshot, table: str, clustering: str) -> list[Row]:
    """The rows of null models, without those of the model itself."""
    if clustering not in snapshot.atlas.results("null") or not snapshot.atlas.has_table(table, clustering):
        return []
    return [row for row in snapshot.atlas.table(table, clustering).to_pylist() if row["kind"] != REAL]


def _jobs(kind: Any, heads: list[Row]) -> NullJobs:
    return NullJobs(kind=kind, heads=len(heads), one_job=sum(row["one_job"] for row in heads))


def _nodes(snapshot: Snapshot, clustering: str) -> list[NullNodes]:
    """Shares of nodes: the maps of their leaves, of all maps, those that belong to no pattern included."""
    leaves = _rows(snapshot, "null_leaves", clustering)
    if not leaves:
        return []
    nodes = snapshot.atlas.table("nodes", clustering, columns=["first_leaf", "last_leaf"])
    first, last = (nodes[name].to_numpy() for name in ("first_leaf", "last_leaf"))
    total: dict[str, int] = defaultdict(int)
    for row in _rows(snapshot, "null_shares", clustering):
        total[row["kind"]] += row["maps"]

    def shares(kind: str, column: str) -> list[float]:
        counts = np.array([row[column] for row in leaves if row["kind"] == kind])
        sums: NDArray[Any] = np.concatenate([[0], np.cumsum(counts)])
        of_nodes: list[float] = ((sums[last + 1] - sums[first]) / max(1, total[kind])).tolist()
        return of_nodes

    kinds: list[Any] = list(total)
    return [NullNodes(kind=kind, share=shares(kind, "maps"), share_real=shares(kind, "maps_real")) for kind in kinds]
