"""The tables of a clustering as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from headatlas import wording
from headatlas.atlas import schema, summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.atlas.trees import tree_text
from headatlas.stages.correlate.findings import findings, span_findings
from headatlas.stages.correlate.null_lines import NullTables
from headatlas.statistics import statistic

WIDTH = 100
INDENT = 5
LABEL = 11
LONGEST = 24  # label
MOST = 20  # clusters that are described; the table has all of them
Row = dict[str, Any]


def summary(atlas: AtlasLike, of: str | None = None) -> str:
    """What the input changes, each cluster with its home and evidence, and how much heads and columns explain."""
    atlas = Atlas.open(atlas)
    if of is None and atlas.latest("cluster") in atlas.results("correlate"):
        of = atlas.latest("cluster")  # what `clusters` describes by default
    of = atlas.needed("correlate", of)
    thresholds = atlas.facts("correlate", of)["thresholds"]
    rows: list[Row] = atlas.table("clusters", of).to_pylist()
    real = [row for row in rows if row["cluster"] != schema.NOISE]
    few = summaries.few_texts(atlas, of)
    lines = [_title(atlas, of, rows, real), *([" " * INDENT + wording.capitalize(few)] if few else [])]
    sentences = findings(atlas, of)
    lines += ["", "What the input changes (shares in brackets: of a head's variation)"] * bool(sentences)
    for sentence in sentences:
        lines += _wrap(sentence, " " * INDENT, " " * (INDENT + 2))
    between = span_findings(atlas, of)
    lines += ["", "Attention between spans (shares in brackets: of a head's variation)"] * bool(between)
    for sentence in between:
        lines += _wrap(sentence, " " * INDENT, " " * (INDENT + 2))
    nulls = NullTables.read(atlas, of)
    for row in real[:MOST]:
        lines += ["", *_cluster(row, thresholds, nulls.of_cluster(row["cluster"], thresholds["mostly"]))]
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
    significant, few = thresholds["significant"], summaries.few_texts(atlas, of)
    entries = [(row["factor"], _factor(row, thresholds, few)) for row in atlas.table("associations", of).to_pylist()]
    if summaries.knows_heads(atlas, of):
        entries = [(name, f"{text}; {wording.BUILT_IN}" if name == "head" else text) for name, text in entries]
    one_job = atlas.table("profiles", of)["one_job"].to_pylist()
    jobs = wording.jobs_line(len(one_job), sum(one_job), thresholds["one_job"])
    entries.append(("jobs", f"{jobs}; {few}" if few else jobs))
    for row in atlas.table("locality", of).to_pylist():
        numbers = (row["similarity"], row["all_pairs"], row["p"])
        entries.append((row["neighbors"], wording.locality_line(row["neighbors"], *numbers, significant, few)))
    entries += [("noise", wording.noise_line(row["maps"], row["share"])) for row in rows if row["cluster"] < 0]
    return entries


def _factor(row: Row, thresholds: dict[str, float], few: str) -> str:
    if row["untested"] and row["untested"] != "few groups":
        return wording.untested(row["untested"])
    p = row["explained_p"] if row["within_heads"] else row["p"]
    if row["explained"] is None:  # clustered without features
        numbers = (row["cramers_v"], row["low"], row["high"], row["ami"], p)
        text = wording.factor_line(*numbers, thresholds["significant"])
    else:
        numbers = (row["explained"], row["explained_low"], row["explained_high"], p, row["within_heads"])
        text = wording.explained_line(*numbers, thresholds["significant"], thresholds["matters"])
    return text if p is not None else f"{text}; {few or wording.untested('few groups')}"


def _cluster(row: Row, thresholds: dict[str, float], nulls: str) -> list[str]:
    size = wording.cluster_size(row["cluster"], row["maps"], row["share"], row["stability"])
    heads = wording.whose(row["heads"], thresholds["mostly"], 5, shares=True)
    lines = _wrap(f"{row['cluster']:>3}  {row['name']}: {size}", "", " " * INDENT)
    lines += _wrap(pattern(row), " " * INDENT, " " * INDENT)
    lines += _entry("where", f"{wording.layers(row['layers'])}; {heads}")
    lines += _entry("effect", wording.reasons([(statistic(why["statistic"]).label, why) for why in row["reasons"]]))
    lines += _entry("goes with", wording.association(row["association"])) if row["association"] else []
    return lines + (_entry("null", nulls) if nulls else [])


def pattern(row: Row) -> str:
    """What the maps of a cluster or a node do, from its row in `clusters` or `node_names`."""
    said = [_said(reason, row["named"]) for reason in row["reasons"]]
    distinction = row["distinction"]
    by = statistic(distinction["statistic"]).label if distinction and distinction["statistic"] else ""
    return wording.pattern_sentence(said, row["named"], wording.apart_line(distinction, by) if distinction else "")


def _said(reason: Row, named: bool) -> wording.Said:
    declared = statistic(reason["statistic"])
    low = declared.low is not None and reason["delta"] is not None and reason["delta"] <= 0
    naming = declared.low if low else declared.high
    of_attention = named and declared.low is None  # the mass on some kind of token
    says = naming.says if named and naming else ""
    measure = "" if of_attention else declared.short if named else declared.label
    return wording.Said(says=says, measure=measure, mean=reason["mean"], rest=reason["rest"])


def _entry(label: str, text: str, width: int = LABEL) -> list[str]:
    """A label and its text, wrapped beside it."""
    label = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    start = " " * INDENT + f"{label:<{width}}"
    return _wrap(text, start, " " * len(start))


def _wrap(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others) or [first.rstrip()]
