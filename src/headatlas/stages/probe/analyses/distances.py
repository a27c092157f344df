"""Distances: how differently two heads attend, for all pairs of heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Panel, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

SIGNIFICANT = 0.05
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

    panels: ClassVar[Mapping[str, Panel]] = {
        "probe_distances": "distances", "probe_distance_map": "hidden", "probe_distance_tree": "hidden",
    }  # fmt: skip

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """For each example and kind of layer the sums over its tokens, for all pairs of heads."""
        from headatlas.stages.probe.pairs import part_table

        return part_table(source, numbers)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over tokens, heads as points and as a tree, and whether heads of one layer are alike."""
        from headatlas.stages.probe.pairs import joined

        return joined(source, rows, self.seed)

    def findings(self, atlas: Atlas) -> list[str]:
        """Whether heads of one layer are alike, the most and the least similar heads, and the head that is alone."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe_pairs import alone_line, ends_line, same_layer_line

        tests = atlas.facts("probe", self.name)["same_layer"]
        lines = [same_layer_line(test, SIGNIFICANT) for test in tests.values()]
        pairs = sorted(rows(atlas, self.table), key=lambda row: row["distance"])
        if not pairs:
            return lines
        heads = [((row["layer"], row["head"]), (row["other_layer"], row["other_head"])) for row in pairs]
        ends = [(0, "most alike"), (-1, "most differently")]
        lines += [ends_line(*heads[at], pairs[at]["distance"], end) for at, end in ends]
        nearest: dict[tuple[int, int], float] = {}
        for both, row in zip(heads, pairs, strict=True):
            for head in both:
                nearest.setdefault(head, row["distance"])
        alone = max(nearest, key=lambda head: nearest[head])
        return [*lines, alone_line(alone, nearest[alone], [row["distance"] for row in pairs])]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """The heads that attend most like this one."""
        from headatlas.stages.probe.said import rows
        from headatlas.wording.probe import SHOWN, Near, nearest_line

        near = [Near(layer=row["other_layer"], head=row["other_head"], distance=row["distance"])
                for row in rows(atlas, self.table, layer=layer, head=head)]  # fmt: skip
        near += [Near(layer=row["layer"], head=row["head"], distance=row["distance"])
                 for row in rows(atlas, self.table, other_layer=layer, other_head=head)]  # fmt: skip
        return [nearest_line(sorted(near, key=lambda row: row["distance"])[:SHOWN])]


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
