"""Roles of heads: each as grids of numbers, from the tables of the analyses that test for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headatlas.stages.probe.detectors import BY_NAME, DETECTORS, EFFECT, FALSE, REPEATED, TEXTS
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.probe import RoleCard, Roles
from headatlas.web.views.probe import analysis_of
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known
from headatlas.wording import capitalize
from headatlas.wording.probe_roles import role_of


@dataclass(frozen=True)
class RoleTable:
    """Which columns of a table of roles the page shows."""

    by: str  # the column that tells rows of one head and role apart
    value: str
    low: str
    high: str
    reference: str
    marked: tuple[str, ...]  # columns that are all true for a head that is marked


TABLES = {
    "probe_detect": RoleTable("on", "score", "low", "high", "chance", ("role",)),
    "probe_parking": RoleTable("rest", "effect", "effect_low", "effect_high", "others", ("role", "parks")),
}


def roles(snapshot: Snapshot, table: str) -> Roles:
    """Every role of a table, in the order in which roles are declared."""
    analysis_of(snapshot, table)
    if table not in TABLES:
        raise RequestError(404, f"{table[:80]} has no roles of heads.")
    cards = [_card(snapshot, TABLES[table], *place, rows) for place, rows in _grouped(snapshot, table).items()]
    return Roles(table=table, least_effect=EFFECT, false_rate=FALSE, roles=[card for card in cards if card.texts])


def _grouped(snapshot: Snapshot, table: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The rows of each role and reading; what heads rest on most comes first."""
    by, order = TABLES[table].by, [detector.name for detector in DETECTORS]
    rests = list(snapshot.atlas.facts("probe", "parking")["rests"]) if by == "rest" else [TEXTS, REPEATED]
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in snapshot.atlas.table(table).to_pylist():
        grouped.setdefault((row["detector"], row[by]), []).append(row)
    return dict(sorted(grouped.items(), key=lambda item: (order.index(item[0][0]), rests.index(item[0][1]))))


def _card(snapshot: Snapshot, table: RoleTable, name: str, on: str, rows: list[dict[str, Any]]) -> RoleCard:
    _, layers, heads = snapshot.shape
    columns = {"value": table.value, "low": table.low, "high": table.high, "reference": table.reference,
               "effect": "effect", "q": "q"}  # fmt: skip
    grids: dict[str, Any] = {kind: [[None] * heads for _ in range(layers)] for kind in columns}
    marked = [[False] * heads for _ in range(layers)]
    for row in rows:
        for kind, column in columns.items():
            grids[kind][row["layer"]][row["head"]] = known(row[column])
        marked[row["layer"]][row["head"]] = all(row[column] for column in table.marked)
    return RoleCard(
        key=f"{name}.{on}", title=capitalize(BY_NAME[name].called), keys=BY_NAME[name].definition,
        on=role_of(on), texts=max(row["texts"] for row in rows), having=sum(row["role"] for row in rows),
        marked=marked, **grids,
    )  # fmt: skip
