"""What the input changes, from the stored tables: heads that switch to another pattern or change, with which column."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas
from headatlas.statistics import statistic
from headatlas.wording import Changed, Shares, Switched

PATTERNS = 2  # to which heads switch, for each column
Row = dict[str, Any]


@dataclass(frozen=True)
class Switches:
    """Heads that switch to a pattern if a column has a value: shares of their maps, and the mean over the heads."""

    value: str
    cluster: int
    pattern: str
    examples: int  # with the value
    heads: list[Switched]

    @property
    def mean(self) -> Shares:
        """The mean over the heads.

        Means of the ends of intervals are ends of an interval that is not too narrow: a mean of numbers varies less
        than these do on average.
        """
        count = len(self.heads)
        lows, highs = [head["low"] for head in self.heads], [head["high"] for head in self.heads]
        return Shares(
            share=sum(head["share"] for head in self.heads) / count,
            otherwise=sum(head["otherwise"] for head in self.heads) / count,
            low=_mean(lows), high=_mean(highs),
        )  # fmt: skip


@dataclass(frozen=True)
class ColumnFindings:
    """What changes with a column: heads that switch to a pattern, and all others that change, the most first."""

    column: str
    label: str
    switches: list[Switches]
    changed: list[Changed]
    contrast: wording.Contrast | None  # in what the first of these change
    explained: dict[tuple[int, int], float]  # share of the variation of every head, by layer and head
    same: list[str]  # labels of columns that cannot be told from it


@dataclass(frozen=True)
class Findings:
    """All columns with which heads change, those of the dataset first.

    Without any, `compared` has the labels of the columns that were tested; none of them, if `texts` are too few.
    """

    columns: list[ColumnFindings] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    texts: int = 0  # independent ones
    thresholds: dict[str, Any] = field(default_factory=dict)


def read_findings(atlas: Atlas, of: str) -> Findings | None:
    """What the input changes; None if vectors of heads were not compared."""
    facts = atlas.facts("correlate", of)
    if not atlas.has_table("changes", of) or "features" not in facts:
        return None
    rows: list[Row] = atlas.table("changes", of).to_pylist()
    labels, same = facts["labels"], facts["same_columns"]
    ranked = dict.fromkeys(row["column"] for row in rows if row["rank"] is not None and not same.get(row["column"]))
    order = sorted(ranked, key=lambda column: column in labels)  # columns of the dataset come first
    names = summaries.names(atlas, of) if order else {}
    switches = _by_column(atlas.table("switches", of).to_pylist() if atlas.has_table("switches", of) else [])
    changes = _by_column(rows)
    columns = []
    for column in order:
        groups = grouped(switches.get(column, []), names)
        others = [labels.get(other, other) for other, source in same.items() if source == column]
        columns.append(_findings(column, labels.get(column, column), groups, changes[column], facts, others))
    tested = dict.fromkeys(row["column"] for row in rows if row["p"] is not None)
    texts = max((row["groups"] for row in rows), default=0)
    return Findings(columns, [labels.get(column, column) for column in tested], texts, facts["thresholds"])


def _by_column(rows: Sequence[Row]) -> dict[str, list[Row]]:
    by_column: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_column[row["column"]].append(row)
    return by_column


def _findings(
    column: str, label: str, switches: list[Switches], rows: Sequence[Row], facts: Row, same: list[str]
) -> ColumnFindings:
    switching = {(head["layer"], head["head"]) for group in switches for head in group.heads}
    changed = [row for row in rows if row["rank"] is not None and (row["layer"], row["head"]) not in switching]
    explained = {(row["layer"], row["head"]): row["explained"] for row in rows if row["explained"] is not None}
    why = contrast(changed, facts["thresholds"]["differs"])
    return ColumnFindings(column, label, switches, [_changed(row) for row in changed], why, explained, same)


def grouped(rows: Sequence[Row], names: Mapping[int, str]) -> list[Switches]:
    """The patterns to which most heads switch, from rows of the table `switches`. A head is mentioned once.

    Of two patterns with as many heads, that of the rarer value comes first.
    """
    groups: list[Switches] = []
    mentioned: set[tuple[int, int]] = set()
    while len(groups) < PATTERNS:
        by_pattern: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for row in rows:
            if (row["layer"], row["head"]) not in mentioned:
                by_pattern[row["cluster"], row["value"]].append(row)
        if not by_pattern:
            break
        cluster, value = max(by_pattern, key=lambda key: (len(by_pattern[key]), -by_pattern[key][0]["n"]))
        heads = [_switched(row) for row in by_pattern[cluster, value]]
        groups.append(Switches(value, cluster, names[cluster], by_pattern[cluster, value][0]["n"], heads))
        mentioned |= {(head["layer"], head["head"]) for head in heads}
    return groups


def _switched(row: Row) -> Switched:
    return Switched(
        layer=row["layer"], head=row["head"], share=row["share"], otherwise=row["otherwise"], low=row.get("low"),
        high=row.get("high"), q=row["q"],
    )  # fmt: skip


def _changed(row: Row) -> Changed:
    return Changed(
        layer=row["layer"], head=row["head"], explained=row["explained"], low=row["low"], high=row["high"], q=row["q"]
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]  # a result of an earlier version has no intervals
    return sum(known) / len(known) if known and len(known) == len(values) else None


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
        heads=[wording.Head(layer=row["layer"], head=row["head"]) for row, _ in same], statistic=statistic(name).label,
        high=float(means.max()), high_value=values[high], low=float(means.min()), low_value=values[low],
    )  # fmt: skip


def _most_different(row: Row, differs: float) -> Row | None:
    items = (item for item in row["statistics"] if np.ptp([mean for mean in _means(item) if mean == mean]) >= differs)
    return next(items, None)


def _means(item: Row) -> list[float]:
    return [float("nan") if mean["mean"] is None else mean["mean"] for mean in item["means"]]
