"""Detect: which heads have a role that has a name, such as previous-token or induction head."""

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
        One row per head and detector: the score with its 95% interval over texts, the score that chance gives, p and q,
        and whether the head has this role.
"""


@dataclass(frozen=True, kw_only=True)
class Detect(Analysis):
    """The mean attention to the keys that define each role, compared with chance."""

    name: ClassVar[str] = "detect"
    question: ClassVar[str] = "Which heads are previous-token heads, induction heads, attention sinks and the like?"
    table: ClassVar[str] = "probe_detect"
    panels: ClassVar[Mapping[str, Panel]] = {"probe_detect": "roles"}

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)
    repeats: int = option(32, help="Sequences of repeated random tokens; 0: none.", least=0)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per example, head and detector."""
        from headatlas.stages.probe.detection import part_table

        return part_table(source, numbers, self.seed)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Scores over texts and over repeated random tokens, tested."""
        from headatlas.stages.probe.repeated import repeated_rows
        from headatlas.stages.probe.roles import detected

        text = source.model.grid is None and self.repeats > 0
        return detected(source, rows, repeated_rows(source, self.repeats, self.seed) if text else None)

    def findings(self, atlas: Atlas) -> list[str]:
        """How many heads have a role, and the heads of each."""
        from headatlas.stages.probe.detectors import DETECTORS
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_parking import nothing_line
        from headatlas.wording.probe_roles import role_line, roles_line

        if atlas.facts("probe", self.name)["few"]:
            return [nothing_line(few=True)]
        having: dict[str, dict[Any, Any]] = {}
        for row in sorted(rows(atlas, self.table, role=True), key=lambda row: -row["effect"]):
            having.setdefault(row["detector"], {}).setdefault((row["layer"], row["head"]), row)
        lines = [role_line(each.called, [*having[each.name].values()]) for each in DETECTORS if each.name in having]
        with_role = {head for heads in having.values() for head in heads}
        heads = sum(layer["heads"] for layer in atlas.header["model"]["layers"])
        counts = {each.called: len(having.get(each.name, ())) for each in DETECTORS}
        return [roles_line(len(with_role), heads, counts), *lines]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """Its roles."""
        return [_sentence(row) for row in self._roles(atlas, layer, head)]

    def telling(self, atlas: Atlas, layer: int, head: int) -> list[Telling]:
        """Its strongest role by place and by content: others of one kind often have the same keys."""
        from headatlas.stages.probe.detectors import BY_NAME

        strongest: dict[str, Any] = {}
        for row in self._roles(atlas, layer, head):
            strongest.setdefault(BY_NAME[row["detector"]].chance, row)
        return [Telling(row["effect"], _sentence(row)) for row in strongest.values()]

    def _roles(self, atlas: Atlas, layer: int, head: int) -> list[Any]:
        """The rows of its roles, the strongest first."""
        from headatlas.stages.probe.said import rows

        return sorted(rows(atlas, self.table, layer=layer, head=head, role=True), key=lambda row: -row["effect"])


def _sentence(row: Any) -> str:
    from headatlas.stages.probe.detectors import BY_NAME
    from headatlas.wording.probe_roles import role_score

    return f"{BY_NAME[row['detector']].called}: {role_score(row)}"


@public(Detect.options(), RETURNS, ATLAS, MODEL)
def detect(
    atlas: AtlasLike, *, model: ModelLike | None = None, repeats: int = 32, **shared: Unpack[Shared]
) -> pa.Table:
    """Which heads have a role that has a name: previous token, first token, induction and others.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://detect.atlas")
    >>> table = ha.probe.detect(atlas).to_pandas()
    >>> best = table[table.detector == "previous"].sort_values("score").iloc[-1]
    >>> int(best["layer"]), int(best["head"])  # L0·H2 attends to the previous token
    (0, 2)

    A head has a role if q < 0.05 and its score is at least 0.1 above chance. Fewer than 20 texts are not tested.
    `ha.probe.heads_json(atlas)` has the roles of each head.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Detect(repeats=repeats, **shared), model)
