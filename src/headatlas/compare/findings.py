"""What a comparison found, in sentences made from its tables; for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.statistics import statistic
from headatlas.wording import compare as words
from headatlas.wording.thresholds import MOSTLY, SHARES

Row = dict[str, Any]


def summary(atlas: AtlasLike, of: str | None = None) -> str:
    """What was compared, and the findings about every step, as text for a terminal.

    >>> import headatlas as ha
    >>> texts = ha.data.load("sample", limit=4)
    >>> before = ha.collect.maps("packaged", texts, "memory://findings/one.atlas", resolution=8)
    >>> after = ha.collect.maps(ha.models.permuted("packaged"), texts, "memory://findings/two.atlas", resolution=8)
    >>> heads = ha.compare.models(before, after)
    >>> print(ha.compare.summary(before).splitlines()[0])
    two: one → two, on 4 examples

    Parameters
    ----------
    atlas : Atlas, str or path
        The atlas that a comparison was written into.
    of : str, optional
        The name of the comparison; the latest if not given.
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("compare", of)
    facts = atlas.facts("compare", of)
    what = words.compare_result(facts["first"], facts["steps"], len(facts["noise"]), facts["examples"])
    last = len(facts["steps"])
    lines = [f"{of}: {what}", ""]
    lines += [f"{facts['steps'][step - 1]}: {_headline(atlas, of, step)}" for step in range(1, last)]
    if last > 1:
        lines += ["", f"{facts['steps'][-1]}:"]
    jobs = series_findings(atlas, of)
    return "\n".join([*lines, *findings(atlas, of, last), *(["", *jobs] if jobs else [])])


def _headline(atlas: Atlas, of: str, step: int) -> str:
    """One line about a step: how many heads changed, or the head that moved most."""
    facts = atlas.facts("compare", of)
    changed = facts["changed"][step - 1]
    rows = [row for row in _rows(atlas, "compare_heads", of, step) if row["shift"] is not None]
    if not rows:
        return words.other_tokens()
    most = words.moved_head(max(rows, key=lambda row: row["shift"]))
    return f"most {most}" if changed is None else f"{words.changed_heads(changed, len(rows))}; most {most}"


def findings(atlas: AtlasLike, of: str | None = None, step: int = 1) -> list[str]:
    """What one step of a comparison found: sentences about heads, layers and patterns."""
    atlas = Atlas.open(atlas)
    of = atlas.needed("compare", of)
    facts = atlas.facts("compare", of)
    lines = [_matched(atlas, of, step)] if facts["match"] == "function" else []
    if not facts["same_tokens"][step - 1]:
        lines.append(words.other_tokens())
    else:
        lines += [*_heads(atlas, of, step), words.layers_line(_rows(atlas, "compare_layers", of, step))]
    return [line for line in [*lines, _patterns(atlas, of, step)] if line]


def _rows(atlas: Atlas, table: str, of: str, step: int) -> list[Any]:
    rows: list[Any] = atlas.table(table, of, filters=[("step", "==", step)]).to_pylist()
    return rows


def _heads(atlas: Atlas, of: str, step: int) -> list[str]:
    """How many heads changed, and those that changed or moved most."""
    facts = atlas.facts("compare", of)
    rows = [row for row in _rows(atlas, "compare_heads", of, step) if row["shift"] is not None]
    changed = facts["changed"][step - 1]
    if not facts["noise"]:
        opening = words.no_seeds()
    elif changed is None:
        opening = wording.few_texts(facts["groups"], facts["thresholds"]["groups"])
    else:
        opening = words.changed_heads(changed, len(rows))
        rows = [row for row in rows if row["changed"]] or rows
    key = "shift" if changed is None else "excess"
    first, *others = sorted(rows, key=lambda row: -row[key])[: words.SHOWN]
    ranked = [first, *(row for row in others if row[key] >= facts["thresholds"]["changed"])]
    names = _names(atlas, of)
    return [opening, *(words.head_change(row, difference(row, names)) for row in ranked)]


def _names(atlas: Atlas, of: str) -> dict[int, str]:
    clustering = atlas.facts("compare", of)["clustering"]
    return {} if clustering is None else summaries.names(atlas, clustering)


def difference(row: Row, names: dict[int, str]) -> words.Difference:
    """A row of the table `compare_heads` as words need it; `names` are those of the clusters."""
    return words.Difference(
        statistic=None if row["statistic"] is None else statistic(row["statistic"]).label, before=row["before"],
        after=row["after"], difference_low=row["difference_low"], difference_high=row["difference_high"],
        pattern_before=names.get(row["pattern_before"]), pattern_after=names.get(row["pattern_after"]),
        outside=(row["pattern_after_outside"] or 0.0) > MOSTLY,
    )  # fmt: skip


def _patterns(atlas: Atlas, of: str, step: int) -> str:
    """The patterns whose share changes by more than its interval, the most first."""
    facts = atlas.facts("compare", of)
    if facts["clustering"] is None:
        return words.without_patterns(facts["without_patterns"])
    rows = _rows(atlas, "compare_patterns", of, step)
    tested = [row for row in rows if row["low"] is not None and row["low"] * row["high"] > 0]
    names = _names(atlas, of)
    large = [row for row in tested if abs(row["difference"]) >= SHARES]
    ranked = sorted(large, key=lambda row: -abs(row["difference"]))
    changes = [
        words.pattern_change(
            names[row["cluster"]], row["share_before"], row["share_after"], row["low"], row["high"], row["outside"]
        )
        for row in ranked
    ]
    if not changes and facts["groups"] < facts["thresholds"]["groups"]:
        return ""
    return words.patterns_line(changes, len(rows))


def _matched(atlas: Atlas, of: str, step: int) -> str:
    rows = [row for row in _rows(atlas, "compare_matches", of, step) if row["layer"] is not None]
    matched = [row for row in rows if row["other_layer"] is not None]
    distance, null = (_mean([row[name] for row in matched]) for name in ("distance", "null_distance"))
    return words.matches_line(len(rows), len(matched), sum(row["rank"] == 1 for row in matched), distance, null)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def series_findings(atlas: AtlasLike, of: str | None = None) -> list[str]:
    """When heads take up what they do at the end of a series; nothing for two models."""
    atlas = Atlas.open(atlas)
    of = atlas.needed("compare", of)
    if not atlas.has_table("compare_series", of):
        return []
    facts, rows = atlas.facts("compare", of), atlas.table("compare_series", of).to_pylist()
    if facts["groups"] < facts["thresholds"]["groups"]:
        return [wording.few_texts(facts["groups"], facts["thresholds"]["groups"])]
    taken = [row for row in rows if row["taken_up"] is not None]
    steps = sorted({row["taken_up"] for row in taken})
    by_step = {facts["steps"][step - 1]: sum(row["taken_up"] == step for row in taken) for step in steps}
    ranked = sorted(taken, key=lambda row: -_size(row))[: words.SHOWN]
    return [words.jobs_taken_up(len(rows), by_step), *(_job(row, facts["steps"]) for row in ranked)]


def _size(row: Row) -> float:
    """The final change of a head's job, in units of the least that matters."""
    return float(abs(row["values"][-1] - row["values"][0]) / statistic(row["statistic"]).least)


def _job(row: Row, steps: Sequence[str]) -> str:
    ends = (row["values"][0], row["values"][-1])
    return words.job(
        row["layer"], row["head"], statistic(row["statistic"]).label, ends, steps[row["taken_up"] - 1]
    )  # fmt: skip
