"""What the input changes in a head: the table `changes` of a clustering."""

from __future__ import annotations

from typing import Any

from headatlas.statistics import statistic
from headatlas.web.api.payloads.changes import Change, ChangedStatistic, Changes, ValueMean
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
    return Changes(layer=layer, head=head, changes=[_change(row, labels) for row in rows])


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
                means=[ValueMean(value=mean["value"], mean=known(mean["mean"])) for mean in item["means"]],
            )
            for item in row["statistics"] or []
        ],
    )
