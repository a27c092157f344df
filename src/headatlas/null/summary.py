"""The tables of null models as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas
from headatlas.wording.nulls import NONE, REAL
from headatlas.wording.thresholds import ONE_JOB

Row = dict[str, Any]


def summary(atlas: Atlas, of: str | None = None) -> str:
    """Each pattern with its share of the maps, and under each null model; then the jobs and likeness of heads."""
    if of is None and atlas.latest("cluster") in atlas.results("null"):
        of = atlas.latest("cluster")  # what `references` describes by default
    of = atlas.needed("null", of)
    facts = atlas.facts("null", of)
    lines = [f"{of}: {wording.null_result(facts['kinds'], facts['examples'])}", ""]
    heads, locality = (atlas.table(name, of).to_pylist() for name in ("null_heads", "null_locality"))
    lines += [*_patterns(atlas, of), "", _jobs(heads), *_alike(locality)]
    return "\n".join(lines + [wording.null_skipped(**skipped) for skipped in facts["skipped"]])


def _patterns(atlas: Atlas, of: str) -> list[str]:
    names = summaries.names(atlas, of)
    rows = atlas.table("null_shares", of).to_pylist()
    lines = []
    for cluster in dict.fromkeys(row["cluster"] for row in rows):
        same = [row for row in rows if row["cluster"] == cluster]
        shares = {row["kind"]: row["share"] for row in same}
        lines.append(wording.null_pattern(NONE if cluster is None else names[cluster], same[0]["share_real"], shares))
    return lines


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
