"""Spectrum: how many different things the rows of a head say, and where attention ends up if it is followed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from headatlas.atlas.store import AtlasLike
from headatlas.numeric.metrics import entropy
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, Analysis, Results, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.models.model import Layer
    from headatlas.stages.probe.source import ExampleMaps, Source

NAMES = {
    "rank": ("effective rank", "exp of the entropy of the singular values; 1 if all rows are equal"),
    "rank_relative": ("effective rank by length", "effective rank divided by the number of tokens"),
    "gap": ("spectral gap", "1 − |second eigenvalue|: how fast attention that is followed on forgets its start"),
    "rests_first": ("stationary share of the first token", "long-run share of the first token"),
    "rests_special": ("stationary share of special tokens", "long-run share of special tokens"),
    "rests_evenly": ("evenness of the stationary distribution", "its entropy divided by the largest possible one"),
}


@dataclass(frozen=True, kw_only=True)
class Spectrum(Analysis):
    """Singular values, eigenvalues and stationary distribution of every map."""

    name: ClassVar[str] = "spectrum"
    question: ClassVar[str] = "How many different things do the rows of a head say, and where does attention end up?"
    table: ClassVar[str] = "probe_spectrum"

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per map."""
        from headatlas.stages.probe.measures import part_table

        rows = [row for example in source.maps(numbers) for row in example_rows(example, source.model.layers)]
        return part_table(sorted(rows, key=lambda row: row["example"]), measures())

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts."""
        from headatlas.stages.probe.measures import head_means

        return {self.table: head_means(source, rows, measures())}, {}


def measures() -> list[Any]:
    """The measures of this analysis."""
    from headatlas.stages.probe.measures import Measure

    return [Measure(name, label, definition) for name, (label, definition) in NAMES.items()]


def example_rows(example: ExampleMaps, layers: tuple[Layer, ...]) -> Iterator[dict[str, Any]]:
    """The numbers of every map of one example."""
    from headatlas.numeric.markov import effective_rank

    for layer in layers:
        maps = example.maps[layer.index]
        rank = effective_rank(maps)
        columns = {"rank": rank, "rank_relative": rank / min(maps.shape[1:])} | _chain(example, layer)
        for head in range(layer.heads):
            numbers = {name: float(values[head]) for name, values in columns.items()}
            yield {"example": example.number, "layer": layer.index, "head": head} | numbers


def _chain(example: ExampleMaps, layer: Layer) -> dict[str, Any]:
    """What only square maps have; the stationary distribution of a causal map is the first token."""
    from headatlas.numeric.markov import spectral_gap, stationary

    maps = example.maps[layer.index]
    size = maps.shape[-1]
    if layer.kind == "cross" or size < 2:
        return {}
    chain = {"gap": spectral_gap(maps, layer.causal)}
    if layer.causal:
        return chain
    rests = stationary(maps)
    tokens = example.tokens(layer, queries=False)
    special = tokens.special if tokens is not None else np.zeros(size, bool)
    rest = {"rests_first": rests[:, 0], "rests_special": rests[:, special].sum(-1)}
    return chain | rest | {"rests_evenly": entropy(rests) / np.log(size)}


@public(Spectrum.options(), MEASURES, ATLAS, MODEL)
def spectrum(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Effective rank, spectral gap and stationary distribution of the maps of every head.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://spectrum.atlas")
    >>> table = ha.probe.spectrum(atlas).to_pandas()
    >>> rank = table[table.measure == "rank_relative"].sort_values("mean")
    >>> int(rank["layer"].iloc[-1]), int(rank["head"].iloc[-1])  # L0·H2 attends to the previous token: full rank
    (0, 2)
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Spectrum(**shared), model)
