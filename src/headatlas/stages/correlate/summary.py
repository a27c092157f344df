"""What was found, in words for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from headatlas.atlas import schema
from headatlas.atlas.store import Atlas
from headatlas.progress import many, percent
from headatlas.stages.correlate.heads import ONE_JOB
from headatlas.stages.correlate.tables import SURE

WIDTH = 100
INDENT = 4
LABEL = 12
LONGEST = 24  # label
MOST = 20  # clusters that are described; the table has all of them
Row = dict[str, Any]


def summary(atlas: Atlas, of: str | None = None) -> str:
    """Each cluster with its home and evidence, the largest first, and how far clusters follow heads and data."""
    if of is None and atlas.latest("cluster") in atlas.results("correlate"):
        of = atlas.latest("cluster")  # what `clusters` describes by default
    of = atlas.needed("correlate", of)
    rows: list[Row] = atlas.table("clusters", of).to_pylist()
    known = [row for row in rows if row["cluster"] != schema.NOISE]
    profiles: list[Row] = atlas.table("profiles", of).to_pylist()
    examples = atlas.array("labels", of).shape[0]
    total = sum(row["maps"] for row in rows)
    lines = [f"{of}: {many(len(known), 'cluster')} of {many(total, 'map')}, "
             f"{many(len(profiles), 'head')} on {many(examples, 'example')}"]  # fmt: skip
    for row in known[:MOST]:
        lines += ["", *_cluster(row)]
    if known[MOST:]:
        rest = f"{len(known) - MOST} smaller clusters, {percent(sum(row['share'] for row in known[MOST:]))} of all maps"
        lines += ["", f"     {rest}: headatlas table {atlas.files.url} clusters --of {of}"]
    lines += ["", "All together"]
    said = overall(atlas, of)
    width = min(LONGEST, max(len(label) for label, _ in said)) + 2
    return "\n".join(lines + [line for label, text in said for line in _entry(label, text, width)])


def overall(atlas: Atlas, of: str) -> list[tuple[str, str]]:
    """What holds for all clusters together: a label and a text each."""
    said = [*_associations(atlas.table("associations", of).to_pylist())]
    said.append(("jobs", _jobs(atlas.table("profiles", of).to_pylist())))
    said += _locality(atlas.table("locality", of).to_pylist())
    for row in atlas.table("clusters", of).to_pylist():
        if row["cluster"] == schema.NOISE:
            said.append(("noise", f"{percent(row['share'])} of all maps ({row['maps']:,}) belong to no cluster"))
    return said


def _cluster(row: Row) -> list[str]:
    stable = "" if row["stability"] is None else f"stability {row['stability']:.2f}"
    size = f"{percent(row['share']):>6}  {many(row['maps'], 'map'):>16}   {stable}".rstrip()
    title = f"{row['cluster']:>3}  {row['name']}"
    lines = [f"{title:<{WIDTH - 44}}{size}"] if len(title) < WIDTH - 44 else [title, " " * (WIDTH - 44) + size]
    layers = (
        "no layer above all"
        if row["layers"] == "spread"
        else f"layer{'s' * (not row['layers'].isdigit())} {row['layers']}"
    )
    lines += _entry("lives in", layers + (f": {row['heads']}" if row["heads"] else ", no head in particular"))
    lines += _entry("evidence", row["evidence"])
    return lines + (_entry("goes with", row["association"]) if row["association"] else [])


def _associations(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row["factor"], _association(row)) for row in rows]


def _association(row: Row) -> str:
    if row["p"] is None or row["cramers_v"] is None:
        return row["note"] or "nothing to test"
    interval = "" if row["low"] is None else f" [{row['low']:.2f}, {row['high']:.2f}]"
    said = f"V {row['cramers_v']:.2f}{interval}, AMI {row['ami']:.2f}, p {row['p']:.2g}"
    return said + ("" if row["p"] < SURE else ": no more than chance")


def _jobs(profiles: list[Row]) -> str:
    single = sum(row["one_job"] for row in profiles)
    one = f"{many(single, 'head')} with one job (at least {percent(ONE_JOB)} of the maps in one cluster)"
    return f"{one}, {len(profiles) - single} with several"


def _locality(rows: list[Row]) -> list[tuple[str, str]]:
    said = []
    for row in rows:
        text = "too few layers to tell"
        if row["p"] is not None and row["difference"] is not None:
            others = "any two" if row["neighbours"] == "same layer" else "those of layers in any other order"
            alike = f"more alike than {others}" if row["p"] < SURE else f"no more alike than {others}, by this test"
            pairs = "all pairs" if row["neighbours"] == "same layer" else "any two layers"
            means = f"similarity {row['similarity']:.2f}, {pairs} {row['all_pairs']:.2f}, p {row['p']:.2g}"
            text = f"heads are {alike}: {means}"
        said.append((row["neighbours"], text))
    return said


def _entry(label: str, said: str, width: int = LABEL) -> list[str]:
    """A label and its text, wrapped beside it."""
    label = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    start = " " * INDENT + f"{label:<{width}}"
    kept = said.replace(" %", "\u00a0%").replace("(> ", "(>\u00a0")  # a number is not parted from its sign
    lines = textwrap.wrap(kept, WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start]
    return [line.replace("\u00a0", " ") for line in lines]
