"""Surface: where heads look without regard to meaning: positions, separators, punctuation, and how evenly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas import statistics
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.numeric.metrics import entropy
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import ExampleMaps, Source

NAMES = (
    "previous", "self", "next", "first", "punctuation", "sep_to_sep", "rest_to_sep", "same_sentence", "same_row",
    "same_column", "grid_distance", "entropy", "entropy_relative", "largest", "distance",
)  # fmt: skip
FIRST_ROW = "first_row_entropy"


@dataclass(frozen=True, kw_only=True)
class Surface(Analysis):
    """Means of the statistics that were collected, over all texts; and the entropy of the first token's row."""

    name: ClassVar[str] = "surface"
    question: ClassVar[str] = "Where does a head look: at which positions, at separators, and how evenly?"
    table: ClassVar[str] = "probe_surface"

    examples: int = option(64, help="Examples for the row of the first token; all texts count otherwise.", least=1)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """The entropy of the row of the first token, for every map."""
        from headatlas.stages.probe.measures import part_table

        rows = [row for example in source.maps(numbers) for row in first_rows(example)]
        return part_table(sorted(rows, key=lambda row: row["example"]), [first_row()])

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts."""
        import pyarrow as pa

        from headatlas.stages.probe.measures import head_means, table_of_means

        names = [name for name in source.atlas.array("stats").attrs["stats"] if shown(name)]
        values = read_statistics(source.atlas, names, source.heads)  # (example, head, statistic)
        collected = [
            table_of_means(source, name, values[:, :, place], source.groups) for place, name in enumerate(names)
        ]
        return {self.table: pa.concat_tables([*collected, head_means(source, rows, [first_row()])])}, {}


def shown(name: str) -> bool:
    """Whether a statistic is about the surface.

    >>> shown("special:[SEP]"), shown("previous"), shown("induction")
    (True, True, False)
    """
    return name in NAMES or name.startswith("special:")


def first_row() -> Any:
    """The measure that is not among the statistics."""
    from headatlas.stages.probe.measures import Measure

    return Measure(
        FIRST_ROW, "relative entropy of the first token's row", "entropy of the row of the first token / ln(keys)"
    )


def measures(atlas: Atlas) -> list[Any]:
    """The measures that an atlas has: those of its statistics, and the row of the first token."""
    from headatlas.stages.probe.measures import Measure

    names = [name for name in atlas.array("stats").attrs["stats"] if shown(name)]
    declared = [statistics.statistic(name) for name in names]
    return [Measure(each.name, each.label, each.definition, each.unit) for each in declared] + [first_row()]


def first_rows(example: ExampleMaps) -> Iterator[dict[str, Any]]:
    """The entropy of the first row of every map; none for a row with one key, as in causal layers."""
    for layer, maps in enumerate(example.maps):
        row = maps[:, 0].astype(np.float64)  # (head, key)
        keys = int((row > 0).any(0).sum())
        for head, value in enumerate(entropy(row)):
            relative = float(value / np.log(keys)) if keys > 1 else float("nan")
            yield {"example": example.number, "layer": layer, "head": head, FIRST_ROW: relative}


def read_statistics(atlas: Atlas, names: list[str], heads: list[tuple[int, int]]) -> NDArray[np.float32]:
    """Statistics (example, head, statistic) of all examples."""
    from headatlas.atlas.blocks import row_ranges

    every = list(atlas.array("stats").attrs["stats"])
    places = [every.index(name) for name in names]
    layer, head = np.array(heads).T
    blocks = [
        atlas.read("stats", slice(rows.start, rows.stop))[:, layer, head][..., places]
        for rows in row_ranges(atlas, "stats")
    ]
    return np.concatenate(blocks)


@public(Surface.options(), MEASURES, ATLAS, MODEL)
def surface(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Attention to positions, separators, special tokens and punctuation, and its entropy, for every head.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://surface.atlas")
    >>> table = ha.probe.surface(atlas).to_pandas()
    >>> best = table[table.measure == "previous"].sort_values("mean").iloc[-1]
    >>> int(best["layer"]), int(best["head"])  # L0·H2 attends to the previous token
    (0, 2)
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Surface(**shared), model)
