"""Distances: how differently two heads attend, for all pairs of heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

from headatlas.atlas.store import AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

RETURNS = """
    pyarrow.Table
        One row per pair of heads and its distance, in nats: 0 if both always attend alike, ln 2 = 0.69 if never to the
        same token.
"""


@dataclass(frozen=True, kw_only=True)
class Distances(Analysis):
    """Jensen–Shannon divergence of the rows of two heads, averaged over tokens."""

    name: ClassVar[str] = "distances"
    question: ClassVar[str] = "How differently do two heads attend, and are heads of one layer more alike?"
    table: ClassVar[str] = "probe_distances"

    examples: int = option(100, help="Examples, drawn with the seed; all if there are no more.", least=1)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """For each example and kind of layer the sums over its tokens, for all pairs of heads."""
        from headatlas.stages.probe.pairs import part_table

        return part_table(source, numbers)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over tokens, heads as points and as a tree, and whether heads of one layer are alike."""
        from headatlas.stages.probe.pairs import joined

        return joined(source, rows, self.seed)


@public(Distances.options(), RETURNS, ATLAS, MODEL)
def distances(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """How differently two heads attend, for all pairs of heads, averaged over all tokens.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://distances.atlas")
    >>> table = ha.probe.distances(atlas)
    >>> table.num_rows  # 72 · 71 / 2
    2556

    The tables `probe_distance_map` (heads as points of the plane, by metric multidimensional scaling, and their order
    in a tree) and `probe_distance_tree` (its merges) are written, too.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Distances(**shared), model)
