"""Randomness: how much the maps of a head depend on their input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, MapAnalysis, Measure, Rows, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import ExampleMaps, Source

UNIT = "0: equal, 1: disjoint"


@dataclass(frozen=True, kw_only=True)
class Randomness(MapAnalysis):
    """Three divergences, from 0 to 1: from even attention, from the head's mean map, and from a shuffled text."""

    name: ClassVar[str] = "randomness"
    question: ClassVar[str] = "How much does what a head does depend on its input?"
    table: ClassVar[str] = "probe_randomness"
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure("from_even", "distance from even attention", "divergence of a row from even attention, by ln 2", UNIT),
        Measure(
            "from_mean", "distance from its mean map",
            "divergence of a pooled row from that of the head's mean map, by ln 2", UNIT,
        ),
        Measure(
            "by_order", "change by shuffled words",
            "divergence of a row from the row at the same place if the words of the text are shuffled, by ln 2", UNIT,
        ),
    )  # fmt: skip

    def missing(self, atlas: Atlas) -> str | None:
        """Patches of images cannot be shuffled as words can."""
        image = atlas.header["data"]["modality"] == "image"
        return "randomness compares texts with their words shuffled, and this atlas has images" if image else None

    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """The three divergences of every map."""
        means = source.mean_maps
        pooled = {number: source.atlas.read("pooled", slice(number, number + 1))[0] for number in numbers}
        shuffled = {each.number: each for each in source.maps(numbers, shuffled_by=self.seed)}
        for example in source.maps(numbers):
            yield from example_rows(example, shuffled[example.number], pooled[example.number], means)


def example_rows(
    example: ExampleMaps, shuffled: ExampleMaps, pooled: Any, means: Any
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The numbers of every map of one example."""
    from headatlas.numeric.metrics import jensen_shannon

    for layer, maps in enumerate(example.maps):
        allowed = (maps > 0).any(0)  # (query, key)
        even = allowed / allowed.sum(-1, keepdims=True)
        heads = len(maps)
        numbers = {
            "from_even": jensen_shannon(maps, even).mean(-1),
            "from_mean": jensen_shannon(_rows(pooled[layer, :heads]), _rows(means[layer, :heads])).mean(-1),
            "by_order": jensen_shannon(maps, shuffled.maps[layer]).mean(-1),
        }
        for head in range(heads):
            place = {"example": example.number, "layer": layer, "head": head}
            yield place | {name: float(values[head] / np.log(2)) for name, values in numbers.items()}


def _rows(pooled: Any) -> Any:
    """Pooled maps with rows that sum to 1 exactly."""
    exact = pooled.astype(np.float64)
    return exact / exact.sum(-1, keepdims=True)


@public(Randomness.options(), MEASURES, ATLAS, MODEL)
def randomness(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """How far the maps of every head are from even attention, from one another, and from those of shuffled words.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://randomness.atlas")
    >>> table = ha.probe.randomness(atlas).to_pandas()
    >>> least = table[table.measure == "by_order"].sort_values("mean").iloc[0]
    >>> int(least["layer"]), int(least["head"])  # L0·H2 attends by position alone
    (0, 2)

    A head with little of all three does the same whatever it reads: a candidate for pruning.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Randomness(**shared), model)
