"""What the input changes in a head: the table `changes` of a clustering."""

from __future__ import annotations

from typing import Any

from headatlas.atlas.span_findings import span_contrast, worth
from headatlas.statistics import statistic
from headatlas.web.api.payloads.changes import Change, ChangedStatistic, Changes, SpanChange, ValueMean
from headatlas.web.views.clusters import needed
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known

Row = dict[str, Any]


def changes(snapshot: Snapshot, clustering: str, layer: int, head: int) -> Changes:
    """All columns for one head, the largest share first."""
    needed(snapshot, clustering)
    snapshot.check_map(0, layer, head)
    rows: list[Row] = []
    if snapshot.atlas.has_table("changes", clustering):
        filters = [("layer", "==", layer), ("head", "==", head)]
        rows = snapshot.atlas.table("changes", clustering, filters=filters).to_pylist()
    labels = snapshot.atlas.facts("correlate", clustering).get("labels", {})
    rows.sort(key=lambda row: -(row["explained"] if row["explained"] is not None else -1))
    changed = [_change(row, labels) for row in rows]
    return Changes(layer=layer, head=head, changes=changed, spans=_spans(snapshot, clustering, layer, head, labels))


def _spans(snapshot: Snapshot, clustering: str, layer: int, head: int, labels: dict[str, str]) -> list[SpanChange]:
    """Attention between spans that changes with a column, the dataset's first; without columns that go with another."""
    if not snapshot.atlas.has_table("span_changes", clustering):
        return []
    facts = snapshot.atlas.facts("correlate", clustering)
    filters = [("layer", "==", layer), ("head", "==", head)]
    rows: list[Row] = snapshot.atlas.table("span_changes", clustering, filters=filters).to_pylist()
    rows = [row for row in rows if row["rank"] is not None and not facts["same_columns"].get(row["column"])]
    rows = [row for row in rows if worth(span_contrast(row), facts["thresholds"]["differs"])]
    rows.sort(key=lambda row: (row["column"] in labels, row["rank"]))  # columns of the dataset come first
    return [_span_change(row, labels) for row in rows]


def _span_change(row: Row, labels: dict[str, str]) -> SpanChange:
    return SpanChange(
        column=row["column"],
        label=str(labels.get(row["column"], row["column"])),
        statistic=row["statistic"],
        plain=statistic(row["statistic"]).label,
        explained=row["explained"],
        low=known(row["low"]),
        high=known(row["high"]),
        q=row["q"],
        means=_means(row["means"]),
    )


def _means(items: list[Row]) -> list[ValueMean]:
    return [ValueMean(value=item["value"], mean=known(item["mean"])) for item in items]


def _change(row: Row, labels: dict[str, str]) -> Change:
    return Change(
        column=row["column"],
        label=str(labels.get(row["column"], row["column"])),
        rank=row["rank"],
        explained=known(row["explained"]),
        low=known(row["low"]),
        high=known(row["high"]),
        q=known(row["q"]),
        groups=row["groups"],
        untested=row["untested"],
        statistics=[
            ChangedStatistic(
                statistic=item["statistic"],
                plain=statistic(item["statistic"]).label,
                means=_means(item["means"]),
            )
            for item in row["statistics"] or []
        ],
    )
