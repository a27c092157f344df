"""Syntax: which heads attend from a word to its head in the dependency tree, or back, relation by relation."""

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

COLUMNS = ("head", "deprel")  # of the examples, lists with one value per word
OFTEN = 0.3  # share of cases that is worth a sentence
MENTIONED, ALSO = 5, 3  # relations in the findings, and of a head that another finds better
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

    panels: ClassVar[Mapping[str, Panel]] = {"probe_relations": "relations", "probe_syntax_cases": "hidden"}

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

    def findings(self, atlas: Atlas) -> list[str]:
        """How many relations have a head, all relations together, and those whose head gains most on the offset."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_syntax import ALL, has_head, relation_line, relations_line

        scored: Any = rows(atlas, self.table)
        if not scored:
            from headatlas.stages.probe.choices import LEAST

            return [f"no relation has {LEAST} cases: too few to rank heads"]
        having = sorted((row for row in scored if has_head(row) and row["relation"] != ALL), key=_gain)
        together = [row for row in scored if row["relation"] == ALL]
        sentences = atlas.facts("probe", self.name)["examples"]
        return [relations_line(scored, sentences), *map(relation_line, [*together, *having[:MENTIONED]])]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """The relations that it finds best of all heads, and others that it finds better than an offset."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_syntax import ALL, also_line, finds_line

        scored: Any = rows(atlas, self.table)
        best = [row for row in scored if (row["layer"], row["head"]) == (layer, head)]
        beaten = {row["relation"]: row["baseline"] for row in scored if row not in best and row["relation"] != ALL}
        others: Any = [
            row
            for row in rows(atlas, "probe_syntax", layer=layer, head=head)
            if row["accuracy"] > max(beaten.get(row["relation"], 1.0), OFTEN)
        ]
        others.sort(key=lambda row: -row["accuracy"])
        return [*map(finds_line, sorted(best, key=_gain)), also_line(others[:ALSO])]

    def telling(self, atlas: Atlas, layer: int, head: int) -> list[Telling]:
        """The relation for which it gains most on the best offset."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_syntax import finds_line, has_head

        scored: Any = rows(atlas, self.table, layer=layer, head=head)
        best = sorted((row for row in scored if has_head(row)), key=_gain)
        return [Telling(row["gain"], finds_line(row)) for row in best[:1]]


def _gain(row: Any) -> float:
    return -float(row["gain"])


@public(Syntax.options(), RETURNS, ATLAS, MODEL)
def syntax(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Which heads attend along the relations of a treebank, against the best fixed offset.

    The atlas must be collected on a treebank in CoNLL-U format. For each word, the word that a head attends to most is
    taken, special tokens and the word itself left out. Direction `up` is from a word to its head in the tree, `down` is
    from the head to the word. The table `probe_syntax` has every relation, head of the model and direction,
    `probe_syntax_cases` some words where the best head of a relation is right, and some where it is wrong.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Syntax(**shared), model)
