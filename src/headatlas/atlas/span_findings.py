"""With which columns attention between spans changes, from the stored table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from headatlas.atlas.store import Atlas
from headatlas.statistics import statistic
from headatlas.wording import Changed, Contrast, Head

STATISTICS = 2  # for each column
TIMES = 2  # means that differ less than `differs` are mentioned if one is so many times the other
Row = dict[str, Any]


@dataclass(frozen=True)
class SpanFinding:
    """A statistic between two kinds of spans that changes with a column: the heads, the most first, and its means."""

    column: str
    label: str
    statistic: str
    heads: list[Changed]
    contrast: Contrast


def read_span_findings(atlas: Atlas, of: str) -> list[SpanFinding]:
    """The largest changes of each column, those of the dataset first; none if the data have no spans.

    Of columns that cannot be told apart, the first counts.
    """
    if not atlas.has_table("span_changes", of):
        return []
    facts = atlas.facts("correlate", of)
    rows: list[Row] = atlas.table("span_changes", of, filters=~_unranked()).to_pylist()
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        if not facts["same_columns"].get(row["column"]):
            groups.setdefault((row["column"], row["statistic"]), []).append(row)
    findings = [_finding(group, facts["labels"]) for group in groups.values()]
    findings = [finding for finding in findings if worth(finding.contrast, facts["thresholds"]["differs"])]
    counts: Counter[str] = Counter()
    kept = []
    for finding in sorted(findings, key=lambda finding: finding.column in facts["labels"]):  # stable: the largest first
        counts[finding.column] += 1
        if counts[finding.column] <= STATISTICS:
            kept.append(finding)
    return kept


def worth(contrast: Contrast, differs: float) -> bool:
    """Whether the means differ enough to be mentioned.

    >>> few = {"heads": [], "statistic": "", "high_value": "", "low_value": ""}
    >>> worth(few | {"high": 0.02, "low": 0.004}, 0.05), worth(few | {"high": 0.99, "low": 0.98}, 0.05)
    (True, False)
    """
    high, low = contrast["high"] or 0.0, contrast["low"] or 0.0
    return high - low >= differs or high >= TIMES * low


def _unranked() -> Any:
    import pyarrow.compute as pc

    return pc.field("rank").is_null()


def _finding(rows: list[Row], labels: dict[str, str]) -> SpanFinding:
    first = rows[0]
    heads = [
        Changed(layer=row["layer"], head=row["head"], explained=row["explained"], low=row["low"], high=row["high"],
                q=row["q"])
        for row in rows
    ]  # fmt: skip
    label = str(labels.get(first["column"], first["column"]))
    return SpanFinding(first["column"], label, first["statistic"], heads, span_contrast(first))


def span_contrast(row: Row) -> Contrast:
    """The means of a row of `span_changes` for the values where they are highest and lowest."""
    means = [item for item in row["means"] if item["mean"] is not None]
    high, low = (choose(means, key=lambda item: item["mean"]) for choose in (max, min))
    return Contrast(
        heads=[Head(layer=row["layer"], head=row["head"])], statistic=statistic(row["statistic"]).label,
        high=high["mean"], high_value=high["value"], low=low["mean"], low_value=low["value"],
    )  # fmt: skip
