"""What the input changes, as sentences: one per column, the largest change first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas
from headatlas.statistics import statistic

MOST = 5  # columns
PATTERNS = 2  # to which heads switch, for each column
Row = dict[str, Any]


def findings(atlas: Atlas, of: str) -> list[str]:
    """Sentences about the heads that change with the columns; none for a result without the table `changes`."""
    if not atlas.has_table("changes", of):
        return []
    facts = atlas.facts("correlate", of)
    rows: list[Row] = atlas.table("changes", of).to_pylist()
    if "features" not in facts:
        return []
    labels, same = facts["labels"], facts["same_columns"]
    by_column: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["rank"] is not None and same.get(row["column"]) is None:
            by_column[row["column"]].append(row)
    order = sorted(by_column, key=lambda column: column in labels)  # columns of the dataset come first
    switches = _switches(atlas, of)
    sentences: list[str] = []
    for column in order[:MOST]:
        lines, switching = switch_lines(column, switches.get(column, []), summaries.names(atlas, of))
        changed = [row for row in by_column[column] if (row["layer"], row["head"]) not in switching]
        sentences += lines
        if changed:
            why = contrast(changed, facts["thresholds"]["differs"])
            label = labels.get(column, column)
            sentences.append(wording.changes_line(column, label, _heads(changed), why, more=bool(lines)))
    if len(order) > MOST:
        command = f"headatlas table {atlas.files.url} changes --of {of}"
        sentences.append(wording.more_columns_line(len(order) - MOST, command))
    for column in order[:MOST]:
        others = [labels.get(other, other) for other, source in same.items() if source == column]
        if others:
            sentences.append(wording.same_columns_line(others, labels.get(column, column)))
    return sentences or [_nothing(rows, labels, facts["thresholds"])]


def _switches(atlas: Atlas, of: str) -> dict[str, list[Row]]:
    """The rows of the table `switches` by column; none for a result of an earlier version."""
    by_column: dict[str, list[Row]] = defaultdict(list)
    if atlas.has_table("switches", of):
        for row in atlas.table("switches", of).to_pylist():
            by_column[row["column"]].append(row)
    return by_column


def switch_lines(column: str, rows: Sequence[Row], names: Mapping[int, str]) -> tuple[list[str], set[tuple[int, int]]]:
    """Sentences on the patterns to which most heads switch, and these heads. A head is mentioned once.

    Of two patterns with as many heads, that of the rarer value comes first.
    """
    lines: list[str] = []
    mentioned: set[tuple[int, int]] = set()
    while len(lines) < PATTERNS:
        by_pattern: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for row in rows:
            if (row["layer"], row["head"]) not in mentioned:
                by_pattern[row["cluster"], row["value"]].append(row)
        if not by_pattern:
            break
        cluster, value = max(by_pattern, key=lambda key: (len(by_pattern[key]), -by_pattern[key][0]["n"]))
        heads = by_pattern[cluster, value]
        shares = [wording.HeadShare(layer=row["layer"], head=row["head"], share=row["share"]) for row in heads]
        share, otherwise = (sum(row[name] for row in heads) / len(heads) for name in ("share", "otherwise"))
        lines.append(wording.switches_line(column, value, names[cluster], shares, share, otherwise))
        mentioned |= {(row["layer"], row["head"]) for row in heads}
    return lines, mentioned


def _nothing(rows: Sequence[Row], labels: dict[str, str], thresholds: dict[str, Any]) -> str:
    """Why there is nothing to report."""
    tested = list(dict.fromkeys(row["column"] for row in rows if row["p"] is not None))
    few = [row["groups"] for row in rows if row["untested"] == "few groups"]
    if few and not tested:
        return wording.few_texts(max(few), thresholds["groups"])
    columns = [labels.get(column, column) for column in tested]
    return wording.no_changes_line(columns, thresholds["explained"], thresholds["significant"])


def _heads(rows: Sequence[Row]) -> list[wording.HeadShare]:
    return [wording.HeadShare(layer=row["layer"], head=row["head"], share=row["explained"]) for row in rows]


def contrast(rows: Sequence[Row], differs: float) -> wording.Contrast | None:
    """The statistic in which the first of these heads change most, and its mean over those that change most in it.

    Only statistics whose means differ by at least `differs` count.
    """
    first = [(row, item) for row in rows[: wording.SHOWN] if (item := _most_different(row, differs)) is not None]
    if not first:
        return None
    spread: Counter[str] = Counter()
    for _, item in first:
        spread[item["statistic"]] += item["spread"]
    name = spread.most_common(1)[0][0]
    same = [(row, item) for row, item in first if item["statistic"] == name]
    values = [mean["value"] for mean in same[0][1]["means"]]
    table = np.array([_means(item) for _, item in same])  # (head, value)
    present = np.flatnonzero(np.isfinite(table).any(0))
    means = np.nanmean(table[:, present], 0)
    high, low = present[means.argmax()], present[means.argmin()]
    return wording.Contrast(
        heads=_heads([row for row, _ in same]), statistic=statistic(name).label, high=float(means.max()),
        high_value=values[high], low=float(means.min()), low_value=values[low],
    )  # fmt: skip


def _most_different(row: Row, differs: float) -> Row | None:
    items = (item for item in row["statistics"] if np.ptp([mean for mean in _means(item) if mean == mean]) >= differs)
    return next(items, None)


def _means(item: Row) -> list[float]:
    return [float("nan") if mean["mean"] is None else mean["mean"] for mean in item["means"]]
