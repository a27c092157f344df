"""What the input changes in all heads: the sentences with which the page begins, as numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyarrow as pa

from headatlas.atlas import findings as stored
from headatlas.atlas.span_findings import read_span_findings
from headatlas.web.api.payloads.findings import (
    ColumnFindings,
    ExplainedHead,
    Findings,
    Shares,
    SpanFinding,
    Switches,
)
from headatlas.web.views.clusters import needed
from headatlas.web.views.snapshot import Snapshot


def findings(snapshot: Snapshot, clustering: str) -> Findings:
    """The columns with which heads of the atlas change, and these heads."""
    needed(snapshot, clustering)
    result = stored.read_findings(snapshot.atlas, clustering)
    if result is None:
        return Findings(clustering=clustering, columns=[], spans=[], compared=None, texts=0)
    words = _categories(snapshot)
    columns = [_column(column, column.column in words) for column in result.columns]
    spans = [
        SpanFinding(**asdict(finding), filters=finding.column in words)
        for finding in read_span_findings(snapshot.atlas, clustering)
    ]
    return Findings(
        clustering=clustering, columns=columns, spans=spans, compared=result.compared, texts=result.texts
    )  # fmt: skip


def _column(result: stored.ColumnFindings, filters: bool) -> ColumnFindings:
    values: dict[str, Any] = asdict(result) | {
        "filters": filters,
        "switches": [Switches(**asdict(group), mean=Shares(**group.mean)) for group in result.switches],
        "explained": [
            ExplainedHead(layer=layer, head=head, explained=share) for (layer, head), share in result.explained.items()
        ],
    }
    return ColumnFindings(**values)


def _categories(snapshot: Snapshot) -> set[str]:
    """Columns of the dataset that hold words; numbers are compared in bins that the page does not have."""
    schema = snapshot.atlas.table_groups("examples", [0]).schema
    return {field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)}
