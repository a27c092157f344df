"""The tables of a clustering as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from headatlas import wording
from headatlas.atlas import schema, summaries
from headatlas.atlas.store import Atlas
from headatlas.atlas.trees import tree_text
from headatlas.stages.correlate.findings import findings
from headatlas.stages.correlate.null_lines import NullTables
from headatlas.statistics import statistic

WIDTH = 100
INDENT = 5
LABEL = 11
LONGEST = 24  # label
MOST = 20  # clusters that are described; the table has all of them
Row = dict[str, Any]


def summary(atlas: Atlas, of: str | None = None) -> str:
    """What the input changes, each cluster with its home and evidence, and how much heads and columns explain."""
    if of is None and atlas.latest("cluster") in atlas.results("correlate"):
        of = atlas.latest("cluster")  # what `clusters` describes by default
    of = atlas.needed("correlate", of)
    thresholds = atlas.facts("correlate", of)["thresholds"]
    rows: list[Row] = atlas.table("clusters", of).to_pylist()
    real = [row for row in rows if row["cluster"] != schema.NOISE]
    lines = [_title(atlas, of, rows, real)]
    sentences = findings(atlas, of)
    lines += ["", "What the input changes (in brackets: the share of the head's variation that is explained)"] * bool(
        sentences
    )
    for sentence in sentences:
        lines += _wrap(sentence, " " * INDENT, " " * (INDENT + 2))
    nulls = NullTables.read(atlas, of)
    for row in real[:MOST]:
        lines += ["", *_cluster(row, thresholds, nulls.shares_of(row["cluster"]))]
    if real[MOST:]:
        share = wording.percent(sum(row["share"] for row in real[MOST:]))
        rest = f"{wording.many(len(real) - MOST, 'smaller cluster')}, {share} of all maps"
        lines += ["", f"     {rest}: headatlas table {atlas.files.url} clusters --of {of}"]
    if atlas.has_table("node_names", of):
        lines += ["", "The tree, [number] marks clusters", *textwrap.indent(tree_text(atlas, of), "     ").splitlines()]
    lines += ["", "All together"]
    entries = nulls.extended(_overall(atlas, of, rows, thresholds))
    width = min(LONGEST, max(len(label) for label, _ in entries)) + 2
    return "\n".join(lines + [line for label, text in entries for line in _entry(label, text, width)])


def _title(atlas: Atlas, of: str, rows: list[Row], real: list[Row]) -> str:
    maps, clusters = sum(row["maps"] for row in rows), wording.many(len(real), "cluster")
    heads, examples = atlas.table("profiles", of).num_rows, atlas.array("labels", of).shape[0]
    on = f"{wording.many(heads, 'head')} on {wording.many(examples, 'example')}"
    return f"{of}: {clusters} of {wording.many(maps, 'map')}, {on}"


def _overall(atlas: Atlas, of: str, rows: list[Row], thresholds: dict[str, float]) -> list[tuple[str, str]]:
    """What holds for all clusters together: a label and a text each."""
    significant = thresholds["significant"]
    entries = [(row["factor"], _factor(row, thresholds)) for row in atlas.table("associations", of).to_pylist()]
    if summaries.knows_heads(atlas, of):
        entries = [(name, f"{text}; {wording.BUILT_IN}" if name == "head" else text) for name, text in entries]
    one_job = atlas.table("profiles", of)["one_job"].to_pylist()
    entries.append(("jobs", wording.jobs_line(len(one_job), sum(one_job), thresholds["one_job"])))
    for row in atlas.table("locality", of).to_pylist():
        numbers = (row["similarity"], row["all_pairs"], row["p"])
        entries.append((row["neighbors"], wording.locality_line(row["neighbors"], *numbers, significant)))
    entries += [("noise", wording.noise_line(row["maps"], row["share"])) for row in rows if row["cluster"] < 0]
    return entries


def _factor(row: Row, thresholds: dict[str, float]) -> str:
    if row["untested"]:
        return wording.untested(row["untested"])
    if row.get("explained") is None:  # clustered without features, or by an earlier version
        numbers = (row["cramers_v"], row["low"], row["high"], row["ami"], row["p"])
        return wording.factor_line(*numbers, thresholds["significant"])
    p = row["explained_p"] if row["within_heads"] else row["p"]
    if p is None:
        return wording.untested("few groups")
    numbers = (row["explained"], row["explained_low"], row["explained_high"], p, row["within_heads"])
    return wording.explained_line(*numbers, thresholds["significant"], thresholds["matters"])


def _cluster(row: Row, thresholds: dict[str, float], nulls: str) -> list[str]:
    size = wording.cluster_size(row["cluster"], row["maps"], row["share"], row["stability"])
    heads = wording.whose(row["heads"], thresholds["mostly"], 5, shares=True)
    lines = _wrap(f"{row['cluster']:>3}  {row['name']}: {size}", "", " " * INDENT)
    lines += _entry("where", f"{wording.layers(row['layers'])}; {heads}")
    reasons = [(statistic(reason["statistic"]).label, reason) for reason in row["reasons"]]
    lines += _entry("evidence", wording.reasons(reasons, row["named"], row["statistics"]))
    lines += _entry("goes with", wording.association(row["association"])) if row["association"] else []
    return lines + (_entry("null", nulls) if nulls else [])


def _entry(label: str, text: str, width: int = LABEL) -> list[str]:
    """A label and its text, wrapped beside it."""
    label = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    start = " " * INDENT + f"{label:<{width}}"
    return _wrap(text, start, " " * len(start))


def _wrap(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others) or [first.rstrip()]
