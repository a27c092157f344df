"""What the input changes, as sentences: one per column and pattern, the largest change first."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas import wording
from headatlas.atlas.findings import ColumnFindings, Findings, read_findings
from headatlas.atlas.span_findings import read_span_findings
from headatlas.atlas.store import Atlas

MOST = 5  # columns


def findings(atlas: Atlas, of: str) -> list[str]:
    """Sentences about the heads that change with the columns; none for a result without the table `changes`."""
    result = read_findings(atlas, of)
    if result is None:
        return []
    if not result.columns:
        return [_nothing(result)]
    sentences = [sentence for column in result.columns[:MOST] for sentence in _column(column)]
    if len(result.columns) > MOST:
        command = f"headatlas table {atlas.files.url} changes --of {of}"
        sentences.append(wording.more_columns_line(len(result.columns) - MOST, command))
    same = [column for column in result.columns[:MOST] if column.same]
    return sentences + [wording.same_columns_line(column.same, column.label) for column in same]


def _column(result: ColumnFindings) -> Iterator[str]:
    for group in result.switches:
        yield wording.switches_line(result.column, group.value, group.pattern, group.heads, group.mean)
    if result.changed:
        more = bool(result.switches)
        yield wording.changes_line(result.column, result.label, result.changed, result.contrast, more=more)


def _nothing(result: Findings) -> str:
    """Why there is nothing to report."""
    least = result.thresholds["groups"]
    if not result.compared and result.texts and result.texts < least:
        return wording.few_texts(result.texts, least)
    thresholds = (result.thresholds["explained"], result.thresholds["significant"])
    return wording.no_changes_line(result.compared, *thresholds, result.texts)


def span_findings(atlas: Atlas, of: str) -> list[str]:
    """Sentences about attention between spans that changes with the columns; none for data without spans."""
    changes = read_span_findings(atlas, of)
    lines = [wording.span_changes_line(item.column, item.label, item.heads, item.contrast) for item in changes[:MOST]]
    if len(changes) > MOST:
        lines.append(wording.more_findings_line(len(changes) - MOST, f"headatlas table {atlas.files.url} span_changes"))
    return lines
