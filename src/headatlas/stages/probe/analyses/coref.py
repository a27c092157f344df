"""Coreference: which heads attend from a mention to an earlier mention of the same person or thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.data.mentions import MENTION_COLUMNS
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared, Telling
from headatlas.wording.probe_roles import Antecedents, antecedent_line

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

FORMATS = (
    "Collect some: headatlas collect MODEL coref:FILE.conll -o NEW.atlas (CoNLL-2012), coref:FILE.conllu (CoNLL-U with "
    "Entity) or gap:FILE.tsv (GAP)"
)
RETURNS = """
    pyarrow.Table
        One row per kind of mention: the best head, chosen on one half of the documents and scored on the other, and
        three rules, with 95% intervals.
"""


@dataclass(frozen=True, kw_only=True)
class Coref(Analysis):
    """The earlier mention that each mention attends to most, compared with chains of mentions."""

    name: ClassVar[str] = "coref"
    question: ClassVar[str] = "Which heads attend from a mention to an earlier mention of the same person or thing?"
    table: ClassVar[str] = "probe_coref"

    examples: int = option(2000, help="Texts, drawn with the seed; all if there are no more.", least=2)

    def missing(self, atlas: Atlas) -> str | None:
        """Some text must have two mentions of one chain."""
        if not set(MENTION_COLUMNS) <= set(atlas.table_columns("examples")):
            return f"coref compares heads with mentions in chains, and this dataset has none. {FORMATS}"
        chains = (part["mention_chain"] for part in atlas.table_parts("examples", ["mention_chain"]))
        if any(len({*chain}) < len(chain) for column in chains for chain in column.to_pylist() if chain):
            return None
        return f"no text of this dataset has two mentions of one chain. {FORMATS}"

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per mention with an antecedent: which heads of the model found it."""
        from headatlas.stages.probe.antecedents import part_table

        return part_table(source, numbers)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Kinds of mentions with their best heads and rules, and every head on every kind."""
        from headatlas.stages.probe.coreference import joined

        return joined(source, rows, self.seed)

    def findings(self, atlas: Atlas) -> list[str]:
        """The best head of each kind of mention, beside the best rule."""
        return [antecedent_line(row) for row in self._ranked(atlas)] or ["no kind of mention has 20 cases: too few"]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """The kinds of mentions whose antecedents it finds best of all heads."""
        ranked = self._ranked(atlas)
        return [antecedent_line(row) for row in ranked if (row["layer"], row["head"]) == (layer, head)]

    def telling(self, atlas: Atlas, layer: int, head: int) -> list[Telling]:
        """The kind of mention for which it gains most on the best rule."""
        kinds: Any = [row for row in self._ranked(atlas) if (row["layer"], row["head"]) == (layer, head)]
        better = sorted((row for row in kinds if (row["gain_low"] or 0) > 0), key=lambda row: -row["gain"])
        return [Telling(row["gain"], antecedent_line(row)) for row in better[:1]]

    def _ranked(self, atlas: Atlas) -> list[Antecedents]:
        from headatlas.stages.probe.said import rows

        ranked: Any = [row | {"baseline": row[row["best_baseline"]]} for row in rows(atlas, self.table)]
        return list(ranked)


@public(Coref.options(), RETURNS, ATLAS, MODEL)
def coref(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Which heads attend from a mention to an earlier mention of the same person or thing, against rules.

    The atlas must be collected on texts with coreference: CoNLL-2012, CoNLL-U with Entity, or GAP. Among the head words
    of earlier mentions, the one that the head word of a mention attends to most is taken; it is right if it is in the
    same chain. The table `probe_coref_heads` has every kind of mention and head of the model.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Coref(**shared), model)
