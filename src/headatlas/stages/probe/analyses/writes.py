"""Writes: what a head moves, which is attention times the length of what is written, rather than attention alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack, cast

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, MapAnalysis, Measure, Results, Rows, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source


PAIRS = 5  # of a head in a sentence


@dataclass(frozen=True, kw_only=True)
class Writes(MapAnalysis):
    """Attention weighted by the norm of the value after the output projection."""

    name: ClassVar[str] = "writes"
    question: ClassVar[str] = "How much does a head write, and from where, if a weight on nothing counts as nothing?"
    table: ClassVar[str] = "probe_writes"
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure("written", "length of what it writes", "mean over queries of ‖Σ a·v·W‖, its output", "norm"),
        Measure(
            "moved", "attention times length",
            "mean over queries of Σ a·‖v·W‖; `written` is less where parts cancel", "norm",
        ),
        Measure(
            "from_self", "share written from the token itself", "share of `moved` from the query's own token",
            share=True,
        ),
        Measure(
            "from_previous", "share written from the previous token", "share of `moved` from the previous token",
            share=True,
        ),
        Measure(
            "from_first", "share written from the first token", "share of `moved` from the first token",
            share=True,
        ),
        Measure(
            "from_special", "share written from special tokens", "share of `moved` from special tokens",
            share=True,
        ),
    )  # fmt: skip
    told: ClassVar[tuple[str, ...]] = ("written", "from_previous", "from_special")

    def missing(self, atlas: Atlas) -> str | None:
        """Values must be readable."""
        if atlas.header["model"].get("route") == "registry":
            return None
        return "what its heads write cannot be read: attention of this family is outside the registry"

    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """What is moved in every map, with its strongest pairs of tokens."""
        from headatlas.stages.probe.moved import map_rows

        return map_rows(source, numbers)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per map, with the strongest pairs of tokens."""
        from headatlas.stages.probe.measures import part_table
        from headatlas.stages.probe.moved import PAIRS_OF_MAP

        return part_table(self.rows(source, numbers), self.measures, PAIRS_OF_MAP)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts, and the strongest pairs of all texts."""
        from headatlas.stages.probe.moved import strongest_pairs

        tables, facts = super().join(source, rows)
        return {**tables, "probe_pairs": strongest_pairs(source, rows)}, facts

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """Between which tokens it moves most, and each measure."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe import Moved, pairs_line

        pairs = sorted(rows(atlas, "probe_pairs", layer=layer, head=head), key=lambda row: row["rank"])[:PAIRS]
        return [pairs_line(cast(list[Moved], pairs)), *super().of_head(atlas, layer, head)]


@public(Writes.options(), MEASURES, ATLAS, MODEL)
def writes(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """How much every head writes into the residual stream, and from which tokens.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://writes.atlas")
    >>> table = ha.probe.writes(atlas).to_pandas()
    >>> row = table[(table.layer == 0) & (table["head"] == 2) & (table.measure == "from_previous")]
    >>> bool(row["mean"].item() > 0.7)  # L0·H2 moves the previous token
    True

    The table `probe_pairs` has the pairs of tokens between which each head moves most.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Writes(**shared), model)
