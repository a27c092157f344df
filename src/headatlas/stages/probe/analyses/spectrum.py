"""Spectrum: how many different things the rows of a head say, and where attention ends up if it is followed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from headatlas.atlas.store import AtlasLike
from headatlas.numeric.metrics import entropy
from headatlas.options import public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, MapAnalysis, Measure, Rows, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.models.model import Layer
    from headatlas.stages.probe.source import ExampleMaps, Source


@dataclass(frozen=True, kw_only=True)
class Spectrum(MapAnalysis):
    """Singular values, eigenvalues and stationary distribution of every map."""

    name: ClassVar[str] = "spectrum"
    question: ClassVar[str] = "How many different things do the rows of a head say, and where does attention end up?"
    table: ClassVar[str] = "probe_spectrum"
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure("rank", "effective rank", "exp of the entropy of the singular values; 1 if all rows are equal"),
        Measure("rank_relative", "effective rank by length", "effective rank divided by the number of tokens"),
        Measure(
            "gap", "spectral gap", "1 − |second eigenvalue|: how fast attention that is followed on forgets its start"
        ),
        Measure("rests_first", "stationary share of the first token", "long-run share of the first token", share=True),
        Measure("rests_special", "stationary share of special tokens", "long-run share of special tokens", share=True),
        Measure("rests_evenly", "evenness of the stationary distribution", "its entropy by the largest possible one"),
    )
    told: ClassVar[tuple[str, ...]] = ("rank", "gap", "rests_special")

    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """Rank, gap and stationary distribution of every map."""
        for example in source.maps(numbers):
            yield from example_rows(example, source.model.layers)


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
