"""Syntax: which heads attend from a word to its head in the dependency tree, or back, relation by relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

COLUMNS = ("head", "deprel")  # of the examples, lists with one value per word
RETURNS = """
    pyarrow.Table
        One row per relation: the best head and the best fixed offset, each chosen on one half of the sentences and
        scored on the other, with 95% intervals.
"""


@dataclass(frozen=True, kw_only=True)
class Syntax(Analysis):
    """The word that each word attends to most, compared with a treebank."""

    name: ClassVar[str] = "syntax"
    question: ClassVar[str] = "Which heads attend from a word to its head in the dependency tree, or back?"
    table: ClassVar[str] = "probe_relations"
    block: ClassVar[int] = 32

    examples: int = option(2000, help="Sentences, drawn with the seed; all if there are no more.", least=2)

    def missing(self, atlas: Atlas) -> str | None:
        """The dataset must be a treebank."""
        if set(COLUMNS) <= set(atlas.table_columns("examples")):
            return None
        return (
            "syntax compares heads with a treebank, and this dataset has none. Collect one: headatlas collect MODEL "
            "conllu:FILE.conllu -o NEW.atlas"
        )

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per word with a head in the tree: which heads of the model found it."""
        from headatlas.stages.probe.dependencies import part_table

        return part_table(source, numbers)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Relations with their best heads and offsets, and every head on every relation."""
        from headatlas.stages.probe.relations import joined

        return joined(source, rows, self.seed)


@public(Syntax.options(), RETURNS, ATLAS, MODEL)
def syntax(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Which heads attend along the relations of a treebank, against the best fixed offset.

    The atlas must be collected on a treebank in CoNLL-U format. For each word, the word that a head attends to most is
    taken, special tokens and the word itself left out. Direction `up` is from a word to its head in the tree, `down` is
    from the head to the word. The table `probe_syntax` has every relation, head of the model and direction.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Syntax(**shared), model)
