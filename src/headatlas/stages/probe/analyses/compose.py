"""Compose: which heads read what earlier heads write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared
from headatlas.wording.probe import SHOWN
from headatlas.wording.probe_roles import composed_line

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

MENTIONED = 2  # pairs of each kind of composition
RETURNS = """
    pyarrow.Table
        The strongest pairs of heads by key, query and value composition: scores, what random rotations give, and
        numbers of the composed maps.
"""


@dataclass(frozen=True, kw_only=True)
class Compose(Analysis):
    """Composition of the weights of two heads in different layers, and of their maps."""

    name: ClassVar[str] = "compose"
    question: ClassVar[str] = "Which heads read what an earlier head writes?"
    table: ClassVar[str] = "probe_compose"

    examples: int = option(
        32, help="Examples for composed maps, drawn with the seed; all if there are no more.", least=1
    )
    top: int = option(100, help="Pairs of heads of each kind of composition in the table.", least=1)

    def missing(self, atlas: Atlas) -> str | None:
        """Weights must be found by what passes through them."""
        if atlas.header["model"].get("route") != "registry":
            return "what its heads read cannot be found: attention of this family is outside the registry"
        if len(atlas.header["model"]["layers"]) < 2:
            return "composition needs two layers, and this model has one"
        return None

    def pairs(self, source: Source) -> list[dict[str, Any]]:
        """The pairs in the table, found once."""
        from headatlas.stages.probe.composed import strongest

        def find() -> list[dict[str, Any]]:
            return strongest(source.model.layers, source.head_weights, self.top)

        pairs: list[dict[str, Any]] = source.once("pairs", find)
        return pairs

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per example and pair of heads."""
        import pyarrow as pa

        from headatlas.stages.probe.composed import PART, example_rows, pair_of

        pairs = sorted({pair_of(row) for row in self.pairs(source)})
        layers = source.model.layers
        rows = [row for each in source.maps(numbers) for row in example_rows(each, layers, pairs, self.seed)]
        return pa.Table.from_pylist(sorted(rows, key=lambda row: row["example"]), schema=PART)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """The strongest pairs with their composed maps."""
        from headatlas.stages.probe.composed import joined

        norms = {each.norm for each in source.head_weights.values()}
        facts = {
            "hidden": next(iter(source.head_weights.values())).output.shape[-1],
            "gain_included": None not in norms,
        }
        return {self.table: joined(source, self.pairs(source), rows)}, facts

    def findings(self, atlas: Atlas) -> list[str]:
        """The pairs of heads that connect most, by each kind of composition."""
        from headatlas.stages.probe.said import rows

        pairs: Any = rows(atlas, self.table)
        return [composed_line(row) for row in sorted(pairs, key=lambda row: row["rank"]) if row["rank"] < MENTIONED]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """What it reads, and who reads it, among the strongest pairs of all."""
        from headatlas.stages.probe.said import rows

        pairs: Any = rows(atlas, self.table, layer_b=layer, head_b=head)
        pairs += rows(atlas, self.table, layer_a=layer, head_a=head)
        return [composed_line(row) for row in sorted(pairs, key=lambda row: row["rank"])[:SHOWN]]


@public(Compose.options(), RETURNS, ATLAS, MODEL)
def compose(atlas: AtlasLike, *, top: int = 100, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Which pairs of heads connect: the later reads, by its queries, keys or values, what the earlier writes.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://compose.atlas")
    >>> table = ha.probe.compose(atlas, top=5).to_pandas()
    >>> bool((table.layer_a < table.layer_b).all()), sorted(set(table.kind))
    (True, ['key', 'query', 'value'])

    Normalization and rotary embedding come between, so that scores of weights are approximate.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Compose(top=top, **shared), model)
