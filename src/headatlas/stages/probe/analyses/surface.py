"""Surface: where heads look without regard to meaning: positions, separators, punctuation, and how evenly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.numeric.metrics import entropy
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, MapAnalysis, Measure, Results, Rows, Shared
from headatlas.statistics import statistic

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import ExampleMaps, Source
    from headatlas.wording.probe import HeadMean

NAMES = (
    "previous", "self", "next", "first", "punctuation", "sep_to_sep", "rest_to_sep", "same_sentence", "same_row",
    "same_column", "grid_distance", "entropy", "entropy_relative", "largest", "distance",
)  # fmt: skip
FIRST_ROW = "first_row_entropy"
WORTH, MENTIONED = 0.1, 0.25  # attention that is worth a sentence on one head, and on all of them


@dataclass(frozen=True, kw_only=True)
class Surface(MapAnalysis):
    """Means of the statistics that were collected, over all texts; and the entropy of the first token's row."""

    name: ClassVar[str] = "surface"
    question: ClassVar[str] = "Where does a head look: at which positions, at separators, and how evenly?"
    table: ClassVar[str] = "probe_surface"

    measures: ClassVar[tuple[Measure, ...]] = (
        Measure(
            FIRST_ROW, "relative entropy of the first token's row", "entropy of the row of the first token / ln(keys)"
        ),
    )

    examples: int = option(64, help="Examples for the row of the first token; all texts count otherwise.", least=1)

    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """The entropy of the row of the first token, for every map."""
        for example in source.maps(numbers):
            yield from first_rows(example)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts, of what was collected as well."""
        import pyarrow as pa

        from headatlas.stages.probe.measures import table_of_means

        names = [name for name in source.atlas.array("stats").attrs["stats"] if shown(name)]
        values = read_statistics(source.atlas, names, source.heads)  # (example, head, statistic)
        collected = [
            table_of_means(source, name, values[:, :, place], source.groups) for place, name in enumerate(names)
        ]
        tables, facts = super().join(source, rows)
        return {self.table: pa.concat_tables([*collected, tables[self.table]])}, facts

    def measure(self, name: str) -> Measure:
        """The declaration of the statistic, or of the row of the first token."""
        if name == FIRST_ROW:
            return super().measure(name)
        declared = statistic(name)
        return Measure(
            name, declared.label, declared.definition, declared.unit, share=declared.label.startswith("attention")
        )

    def findings(self, atlas: Atlas) -> list[str]:
        """Heads that put most of their attention in one place, layers of separators, and the range of evenness."""
        from headatlas.stages.probe.said import means
        from headatlas.wording.probe import attends_line, layers_line, range_line

        grouped = distinct(means(atlas, self.table))
        lines = [attends_line(to_what(name), rows, MENTIONED) for name, rows in grouped.items() if to_what(name)]
        separators = grouped.get("rest_to_sep", [])
        of_layers = {row["layer"]: [other["mean"] for other in separators if other["layer"] == row["layer"]]
                     for row in separators}  # fmt: skip
        over = [(layer, sum(values) / len(values)) for layer, values in of_layers.items()]
        lines.append(layers_line("separators", [(layer, mean) for layer, mean in over if mean > 0.5]))
        return [*lines, range_line("relative entropy of attention", grouped.get("entropy_relative", []))]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """What the head attends to, each place that gets enough; and how evenly."""
        from headatlas.stages.probe.said import means
        from headatlas.wording.numbers import percent
        from headatlas.wording.probe import standing_line, value

        lines = []
        for name, rows in distinct(means(atlas, self.table)).items():
            mine = [row for row in rows if (row["layer"], row["head"]) == (layer, head)]
            for row in mine:
                if to_what(name) and row["mean"] >= WORTH:
                    lines.append((row["mean"], f"puts {value(row, percent)} of its attention on {to_what(name)}"))
                elif name == "entropy_relative":
                    lines.append((0.0, standing_line(self.measure(name).label, row, rows)))
        return [line for _, line in sorted(lines, key=lambda line: -line[0])]


def distinct(grouped: dict[str, list[HeadMean]]) -> dict[str, list[HeadMean]]:
    """Measures without `first` where the first token of every text is a special token, which has a measure itself."""
    first = [row["mean"] for row in grouped.get("first", [])]
    specials = [rows for name, rows in grouped.items() if name.startswith("special:")]
    same = any(np.allclose(first, [row["mean"] for row in rows]) for rows in specials if len(rows) == len(first))
    return {name: rows for name, rows in grouped.items() if not (same and name == "first")}


def to_what(name: str) -> str:
    """What a statistic counts attention to; empty if it is none of these.

    >>> to_what("previous"), to_what("special:[SEP]"), to_what("entropy")
    ('the previous token', '[SEP]', '')
    """
    short = statistic(name).short
    return short.removeprefix("to ") if name != FIRST_ROW and short.startswith("to ") else ""


def shown(name: str) -> bool:
    """Whether a statistic is about the surface.

    >>> shown("special:[SEP]"), shown("previous"), shown("induction")
    (True, True, False)
    """
    return name in NAMES or name.startswith("special:")


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
