"""What the input changes, as sentences: one per column, the largest change first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas.store import Atlas
from headatlas.statistics import statistic

MOST = 5  # columns
Row = dict[str, Any]


def findings(atlas: Atlas, of: str) -> list[str]:
    """Sentences about the heads that change with the columns; none for a result without the table `changes`."""
    if not atlas.has_table("changes", of):
        return []
    facts = atlas.facts("correlate", of)
    rows: list[Row] = atlas.table("changes", of).to_pylist()
    if "features" not in facts:
        return []
    labels: dict[str, str] = facts["labels"]
    by_column: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["rank"] is not None:
            by_column[row["column"]].append(row)
    sentences = [
        wording.changes_line(column, labels.get(column, column), _heads(changed), contrast(changed))
        for column, changed in list(by_column.items())[:MOST]
    ]
    if len(by_column) > MOST:
        command = f"headatlas table {atlas.files.url} changes --of {of}"
        sentences.append(wording.more_columns_line(len(by_column) - MOST, command))
    return sentences or [_nothing(rows, labels, facts["thresholds"])]


def _nothing(rows: Sequence[Row], labels: dict[str, str], thresholds: dict[str, Any]) -> str:
    """Why there is nothing to report."""
    tested = list(dict.fromkeys(row["column"] for row in rows if row["p"] is not None))
    few = [row["groups"] for row in rows if row["untested"] == "few groups"]
    if few and not tested:
        return wording.few_groups_line(max(few), thresholds["groups"])
    columns = [labels.get(column, column) for column in tested]
    return wording.no_changes_line(columns, thresholds["explained"], thresholds["significant"])


def _heads(rows: Sequence[Row]) -> list[wording.HeadShare]:
    return [wording.HeadShare(layer=row["layer"], head=row["head"], share=row["explained"]) for row in rows]


def contrast(rows: Sequence[Row]) -> wording.Contrast | None:
    """The statistic in which most of these heads change most, and its mean over them where it is highest and lowest."""
    first = [row["statistics"][0] for row in rows if row["statistics"]]
    if not first:
        return None
    name = Counter(item["statistic"] for item in first).most_common(1)[0][0]
    same = [item for item in first if item["statistic"] == name]
    values = [mean["value"] for mean in same[0]["means"]]
    table = np.array([[mean["mean"] for mean in item["means"]] for item in same], float)  # (head, value)
    known = np.isfinite(table)
    means = np.where(known, table, 0).sum(0) / np.maximum(1, known.sum(0))
    present = np.flatnonzero(known.any(0))
    high, low = present[means[present].argmax()], present[means[present].argmin()]
    return wording.Contrast(
        heads=len(same), statistic=statistic(name).label, high=float(means[high]), high_value=values[high],
        low=float(means[low]), low_value=values[low],
    )  # fmt: skip
