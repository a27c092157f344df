"""Classifiers: how much of a dependency tree the attention of all heads together tells, against what needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

COLUMNS = ("head", "deprel")  # of the examples, lists with one value per word
LEAST = 50  # sentences: with fewer, too few are left to test on
EFFECTS = {  # columns of the table of heads: weights by the size of the attention that they multiply
    "down_effect": "weight of its attention from a head to its dependent, in the probe of trees",
    "up_effect": "weight of its attention from a dependent to its head, in the probe of trees",
}
RETURNS = """
    pyarrow.Table
        One row per probe and baseline: attachment scores on sentences that were not trained on, with 95% intervals.
"""


@dataclass(frozen=True, kw_only=True)
class Classifiers(Analysis):
    """Probes that find the head of each word by attention, and the same without a model or with an untrained one."""

    name: ClassVar[str] = "classifiers"
    question: ClassVar[str] = "How much of a dependency tree does the attention of all heads together tell?"
    table: ClassVar[str] = "probe_classifiers"
    block: ClassVar[int] = 16

    vectors: str | None = option(None, help="Word vectors: GloVe text, or .npz; without, no probe sees words.")
    test: str | None = option(None, help="Atlas of the same model to test on; without, a fifth of the documents.")
    seeds: int = option(3, help="Times that each probe is trained.", least=1)
    epochs: int = option(30, help="Epochs at most: training ends where it no longer helps.", least=1)
    examples: int = option(2000, help="Sentences, drawn with the seed; all if there are no more.", least=1)

    def missing(self, atlas: Atlas) -> str | None:
        """The dataset must be a treebank with enough sentences."""
        if not set(COLUMNS) <= set(atlas.table_columns("examples")):
            return (
                "classifiers learn from a treebank, and this dataset has none. Collect one: headatlas collect MODEL "
                "conllu:FILE.conllu -o NEW.atlas"
            )
        if self.vectors is not None and "form" not in atlas.table_columns("examples"):
            return "the words of this treebank were not stored, so they have no vectors. Collect it again"
        count = min(atlas.collection["counts"]["examples"], self.examples)
        return f"{count:,} sentences are too few: classifiers need at least {LEAST}" if count < LEAST else None

    def inputs(self, atlas: Atlas) -> Mapping[str, Any]:
        """The files that are named by an option can change."""
        from headatlas.stages.probe.parsing.joined import identified

        return identified(atlas, self)

    def numbers(self, atlas: Atlas) -> list[int]:
        """Those of the atlas to test on follow those of the atlas."""
        from headatlas.stages.probe.parsing.joined import numbered

        return numbered(atlas, self)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per sentence: its tree, and the maps between its words, by the model and by the same untrained."""
        from headatlas.stages.probe.parsing.joined import part_table

        return part_table(source, numbers, self)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Train and test every probe."""
        return self.join_parts(source, [rows])

    def join_parts(self, source: Source, tables: Iterable[pa.Table]) -> Results:
        """Train and test every probe, with maps in a temporary file."""
        from headatlas.stages.probe.parsing.joined import joined

        return joined(source, tables, self)

    def findings(self, atlas: Atlas) -> list[str]:
        """How many words get the right head, by probes and by baselines."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_roles import attached_line

        scored: Any = {role: rows(atlas, self.table, role=role) for role in ("probe", "baseline")}
        return [attached_line(scored["probe"], "probes"), attached_line(scored["baseline"], "baselines")]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """Its weight in the probe that sees attention only, beside those of other heads."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe import HeadMean, standing_line

        weights = rows(atlas, "probe_classifier_heads")
        sentences = []
        for column, label in EFFECTS.items():
            means = [HeadMean(layer=row["layer"], head=row["head"], mean=row[column], low=None, high=None)
                     for row in weights]  # fmt: skip
            mine = [row for row in means if (row["layer"], row["head"]) == (layer, head)]
            sentences += [standing_line(label, row, means) for row in mine]
        return sentences


@public(Classifiers.options(), RETURNS, ATLAS, MODEL)
def classifiers(
    atlas: AtlasLike,
    *,
    vectors: str | PathLike[str] | None = None,
    test: AtlasLike | None = None,
    seeds: int = 3,
    epochs: int = 30,
    model: ModelLike | None = None,
    **shared: Unpack[Shared],
) -> pa.Table:
    """How well the head of each word in a dependency tree is found by the attention of all heads together.

    The atlas must be collected on a treebank in CoNLL-U format. A probe scores each pair of words by a weighted sum of
    the attention of all heads, in both directions; with word vectors, the weights depend on the two words. The same
    probes are trained on distances alone, and on a model of the same architecture with random weights. The table
    `probe_classifier_heads` has the weights of every head in the probe that sees attention only.
    """
    from headatlas.stages.probe.stage import run

    other = test.files.url if isinstance(test, Atlas) else test
    paths = {"vectors": None if vectors is None else str(vectors), "test": None if other is None else str(other)}
    options = Classifiers(**paths, seeds=seeds, epochs=epochs, **shared)
    return run(atlas, options, model)
