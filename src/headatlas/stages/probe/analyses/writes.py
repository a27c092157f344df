"""Writes: what a head moves, which is attention times the length of what is written, rather than attention alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

NAMES = {
    "written": ("length of what it writes", "mean over queries of ‖Σ a·v·W‖, the output of the head", "norm"),
    "moved": ("attention times length", "mean over queries of Σ a·‖v·W‖; `written` is less where parts cancel", "norm"),
    "from_self": ("share written from the token itself", "share of `moved` from the query's own token", "share"),
    "from_previous": ("share written from the previous token", "share of `moved` from the previous token", "share"),
    "from_first": ("share written from the first token", "share of `moved` from the first token", "share"),
    "from_special": ("share written from special tokens", "share of `moved` from special tokens", "share"),
}


@dataclass(frozen=True, kw_only=True)
class Writes(Analysis):
    """Attention weighted by the norm of the value after the output projection."""

    name: ClassVar[str] = "writes"
    question: ClassVar[str] = "How much does a head write, and from where, if a weight on nothing counts as nothing?"
    table: ClassVar[str] = "probe_writes"

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)

    def missing(self, atlas: Atlas) -> str | None:
        """Values must be readable."""
        outside = atlas.header["model"]["route"] != "registry"
        return "what its heads write cannot be read: attention of this family is outside the registry" * outside or None

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per map, with the strongest pairs of tokens."""
        from headatlas.stages.probe.moved import part_table

        return part_table(source, numbers, measures())

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts, and the strongest pairs of all texts."""
        from headatlas.stages.probe.measures import head_means
        from headatlas.stages.probe.moved import strongest_pairs

        return {self.table: head_means(source, rows, measures()), "probe_pairs": strongest_pairs(source, rows)}, {}


def measures() -> list[Any]:
    """The measures of this analysis."""
    from headatlas.stages.probe.measures import Measure

    return [Measure(name, label, definition, unit) for name, (label, definition, unit) in NAMES.items()]


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
