"""Standard t-SNE of the hidden states of each layer, to compare with head t-SNE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.errors import OptionError
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne.align import align
from headatlas.stages.tsne.layout_tables import STANDARD, Head, Layout, Points
from headatlas.stages.tsne.reading import Reading
from headatlas.stages.tsne.standard import PERPLEXITY, Optimizer, standard

Vectors = NDArray[np.float32]  # (point, feature)


@dataclass(frozen=True, repr=False)
class States:
    """Layouts of vectors by layer; `points[layer]` names what is laid out."""

    model: str
    recipe: dict[str, Any]  # everything that determines the layouts
    points: dict[int, list[str]]
    layouts: dict[int, NDArray[np.float32]]
    kl: dict[int, NDArray[np.float64]]  # (restart,)
    notes: dict[int, tuple[str, ...]]

    def layout(self, layer: int) -> NDArray[np.float32]:
        """Positions (point, 2) in one layer."""
        if layer not in self.layouts:
            raise OptionError(f"layer {layer} was not laid out; these were: {', '.join(map(str, self.layouts))}")
        return self.layouts[layer]

    def __repr__(self) -> str:
        points = max(map(len, self.layouts.values()), default=0)
        kind = f"{len(self.layouts)} layer{'s' * (len(self.layouts) != 1)} × {points} points"
        return f"<States of {self.model}: {kind}>"


@dataclass(frozen=True)
class VectorOptions:
    """How layouts of vectors are made; see `tsne.hidden`."""

    perplexity: float = PERPLEXITY
    restarts: int = 1
    seed: int = 0
    optimizer: Optimizer = "opentsne"


def lay_out_vectors(
    model: str, recipe: dict[str, Any], vectors: Mapping[int, Vectors], points: Mapping[int, Points], how: VectorOptions
) -> States:
    """t-SNE of the vectors of each layer, rotated to a common orientation, with a progress bar."""
    layouts = {}
    with progress.bar("laying out", len(vectors), "layers") as advance:
        for layer, layer_vectors in vectors.items():
            layouts[layer, STANDARD] = lay_out_layer(layer_vectors, layer, how)
            advance(1)
    return assemble_states(model, recipe | asdict(how), points, align_layers(layouts))


@single_thread()
def lay_out_layer(vectors: Vectors, layer: int, how: VectorOptions) -> Layout:
    """t-SNE of the vectors of one layer, on one core: results must not depend on the number of cores."""
    result = standard(
        vectors, perplexity=how.perplexity, restarts=how.restarts, seed=(how.seed, layer), optimizer=how.optimizer
    )
    return Layout(result.layout, result.kl, np.nan, result.notes)


def align_layers(layouts: Mapping[Head, Layout]) -> dict[Head, Layout]:
    """Layouts of equally many points rotated to a common orientation, so that layers can be compared."""
    rotated: dict[Head, NDArray[np.float32]] = {}
    for size in {len(layout.positions) for layout in layouts.values()}:
        rotated |= align({head: layout.positions for head, layout in layouts.items() if len(layout.positions) == size})
    return {head: replace(layout, positions=rotated[head]) for head, layout in layouts.items()}


def assemble_states(
    model: str, recipe: dict[str, Any], points: Mapping[int, Points], layouts: Mapping[Head, Layout]
) -> States:
    """Computed or stored layouts as one object."""
    layers = {layer: layout for (layer, _), layout in layouts.items()}
    return States(
        model, recipe, {layer: points[layer].text for layer in layers},
        {layer: layout.positions for layer, layout in layers.items()},
        {layer: layout.kl for layer, layout in layers.items()},
        {layer: layout.notes for layer, layout in layers.items()},
    )  # fmt: skip


@single_thread()
def states_of(
    reading: Reading, layers: Sequence[int] | None, special: bool
) -> tuple[dict[int, Vectors], dict[int, Points]]:
    """Hidden states after each layer (all if none is named), and the tokens they belong to."""
    known = [layer for layer in reading.model.layers if layer.index in reading.hidden]
    check_layers(layers, [layer.index for layer in known])
    vectors, points = {}, {}
    for layer in known:
        if layers is None or layer.index in layers:
            side = reading.side(layer.kind, True)
            tokens = np.flatnonzero(~side.special | special)
            vectors[layer.index] = reading.hidden[layer.index][tokens]
            text = [side.text[token].strip() for token in tokens]
            points[layer.index] = Points(text, tokens, np.ones(len(tokens), bool))
    return vectors, points


def check_layers(layers: Sequence[int] | None, known: Sequence[int]) -> None:
    """Raise OptionError for a layer whose hidden states are not known."""
    unknown = next((layer for layer in layers or [] if layer not in known), None)
    if unknown is not None:
        raise OptionError(f"layer {unknown}: hidden states are known of layers {known[0]} to {known[-1]}")
