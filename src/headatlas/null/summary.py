"""The tables of null models as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.wording.nulls import NONE, REAL
from headatlas.wording.thresholds import ONE_JOB

Row = dict[str, Any]


def summary(atlas: AtlasLike, of: str | None = None) -> str:
    """Each pattern with its share of the maps, and under each null model; then the jobs and likeness of heads."""
    atlas = Atlas.open(atlas)
    if of is None and atlas.latest("cluster") in atlas.results("null"):
        of = atlas.latest("cluster")  # what `references` describes by default
    of = atlas.needed("null", of)
    facts = atlas.facts("null", of)
    lines = [f"{of}: {wording.null_result(facts['kinds'], facts['examples'])}", ""]
    heads, locality = (atlas.table(name, of).to_pylist() for name in ("null_heads", "null_locality"))
    shares = atlas.table("null_shares", of).to_pylist()
    lines += [*_patterns(atlas, of, shares), "", _kept(shares), _jobs(heads), *_alike(locality)]
    return "\n".join(lines + [wording.null_skipped(**skipped) for skipped in facts["skipped"]])


def _patterns(atlas: Atlas, of: str, rows: Sequence[Row]) -> list[str]:
    names = summaries.names(atlas, of)
    lines = []
    for cluster in dict.fromkeys(row["cluster"] for row in rows):
        same = [row for row in rows if row["cluster"] == cluster]
        shares = {row["kind"]: row["share"] for row in same}
        lines.append(wording.null_pattern(NONE if cluster is None else names[cluster], same[0]["share_real"], shares))
    return lines


def _kept(rows: Sequence[Row]) -> str:
    """The mean over all maps of the model itself that are in a cluster."""
    kept: dict[str, float] = {}
    for row in rows:
        if row["cluster"] is not None and row["kept"] is not None:
            kept[row["kind"]] = kept.get(row["kind"], 0.0) + row["kept"] * row["share_real"]
    total = sum(row["share_real"] for row in rows if row["cluster"] is not None and row["kind"] == rows[0]["kind"])
    return wording.null_kept({kind: share / total for kind, share in kept.items()})


def _jobs(rows: Sequence[Row]) -> str:
    one_job: dict[str, list[bool]] = {}
    for row in rows:
        one_job.setdefault(row["kind"], []).append(row["one_job"])
    real = one_job.pop(REAL)
    others = wording.null_jobs(len(real), {kind: sum(flags) for kind, flags in one_job.items()})
    return f"{wording.jobs_line(len(real), sum(real), ONE_JOB)}; {others}"


def _alike(rows: Sequence[Row]) -> list[str]:
    lines = []
    for neighbors in dict.fromkeys(row["neighbors"] for row in rows):
        values = {row["kind"]: (row["similarity"], row["all_pairs"]) for row in rows if row["neighbors"] == neighbors}
        lines.append(wording.null_similarity(neighbors, values.pop(REAL), values))
    return lines
