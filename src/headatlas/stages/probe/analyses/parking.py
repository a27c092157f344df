"""Parking: do heads rest on separators, or on the first token, where they have nothing to do?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Panel, Results, Shared, Telling

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

RETURNS = """
    pyarrow.Table
        One row per head, role and what is rested on: attention to it of tokens to which the role applies and of others,
        the difference above chance with its 95% interval over texts, p and q, and whether the head has the role.
"""


@dataclass(frozen=True, kw_only=True)
class Parking(Analysis):
    """Attention to separators and to the first token of queries that have a key of a role, and of those that do not."""

    name: ClassVar[str] = "parking"
    question: ClassVar[str] = "Do heads rest on separators, or on the first token, where they have nothing to do?"
    table: ClassVar[str] = "probe_parking"
    panels: ClassVar[Mapping[str, Panel]] = {"probe_parking": "roles"}

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)

    def missing(self, atlas: Atlas) -> str | None:
        """Roles that apply to some tokens and not to others are those of texts."""
        if atlas.header["data"]["modality"] == "image":
            return "parking compares tokens of texts, and this atlas has images"
        return None

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per example, head, role and what is rested on."""
        from headatlas.stages.probe.resting import part_table

        return part_table(source, numbers, self.seed)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Differences over texts, tested; and how much attention of all heads is on what they may rest on."""
        import numpy as np

        from headatlas.stages.probe.measures import LEAST
        from headatlas.stages.probe.parked import of_roles, parked, rests

        few = len(np.unique(source.groups[source.numbers])) < LEAST
        table = parked(source.model.layers, rows, source.groups)
        facts = {"rests": rests(rows, source.groups), "roles": of_roles(table, self.seed), "few": few}
        return {self.table: table}, facts

    def findings(self, atlas: Atlas) -> list[str]:
        """What heads rest on, and for each role how many of its heads do so more where it does not apply."""
        from headatlas.stages.probe.detectors import BY_NAME
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_parking import nothing_line, parks_line, rests_line

        facts, lines = atlas.facts("probe", self.name), []
        for role in facts["roles"]:
            if role["rest"] == _most(facts):
                place = {name: role[name] for name in ("detector", "rest")}
                heads: Any = [row for row in rows(atlas, self.table, role=True, **place) if row["effect"] is not None]
                lines.append(parks_line(BY_NAME[role["detector"]].called, role, heads))
        return [rests_line(facts["rests"]), *(lines or [nothing_line(facts["few"])])]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """Where it rests, for each of its roles."""
        return [_sentence(row) for row in self._roles(atlas, layer, head)]

    def telling(self, atlas: Atlas, layer: int, head: int) -> list[Telling]:
        """Where it rests more than other heads of its layer, for the role for which it does so most."""
        rows = [row for row in self._roles(atlas, layer, head) if row["parks"]]
        return [Telling(row["gain"], _sentence(row)) for row in rows[:1]]

    def _roles(self, atlas: Atlas, layer: int, head: int) -> list[Any]:
        """The rows of its roles and of what heads rest on most, the strongest first."""
        from headatlas.stages.probe.said import rows

        rest = _most(atlas.facts("probe", self.name))
        roles = rows(atlas, self.table, layer=layer, head=head, role=True, rest=rest)
        return sorted((row for row in roles if row["effect"] is not None), key=lambda row: -row["effect"])


def _sentence(row: Any) -> str:
    from headatlas.stages.probe.detectors import BY_NAME
    from headatlas.wording.probe_parking import parked_line

    return parked_line(BY_NAME[row["detector"]].called, row["rest"], row)


def _most(facts: dict[str, Any]) -> str:
    """What heads rest on most."""
    return next(iter(facts["rests"]), "")


@public(Parking.options(), RETURNS, ATLAS, MODEL)
def parking(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Whether heads attend more to separators, or to the first token, where their role does not apply.

    >>> import headatlas as ha
    >>> texts = ["The cat sat, and the cat slept.", "It slept. Then it ate, and it slept."]
    >>> atlas = ha.collect.maps("packaged", texts, "memory://parking.atlas")
    >>> table = ha.probe.parking(atlas).to_pandas()
    >>> row = table[(table.layer == 2) & (table["head"] == 9) & (table.detector == "duplicate")].set_index("rest")
    >>> bool(row.otherwise["first"] > row.applies["first"])  # L2·H9 attends to the same token, if there is one
    True

    Roles are those of `detect` that depend on what tokens are; whether a head has one is found on the same maps.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Parking(**shared), model)
