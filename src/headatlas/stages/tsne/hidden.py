"""Standard t-SNE of the hidden states of each layer: the text as the model holds it, beside what a head sees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.errors import OptionError
from headatlas.models.model import Layer
from headatlas.stages.tsne.align import align
from headatlas.stages.tsne.reading import Reading, Source, Text, read
from headatlas.stages.tsne.standard import PERPLEXITY, Optimiser, standard


@dataclass(frozen=True)
class States:
    """Layouts of vectors by layer; `points[layer]` names what is laid out."""

    model: str
    recipe: dict[str, Any]  # all that the layouts follow from
    points: dict[int, list[str]]
    layouts: dict[int, NDArray[np.float32]]
    kl: dict[int, NDArray[np.float64]]  # (restart,)
    notes: dict[int, tuple[str, ...]]

    def layout(self, layer: int) -> NDArray[np.float32]:
        """Positions (point, 2) in one layer."""
        if layer not in self.layouts:
            raise OptionError(f"layer {layer} was not laid out; these were: {', '.join(map(str, self.layouts))}")
        return self.layouts[layer]


def hidden(
    source: Source,
    text: Text,
    *,
    layers: list[int] | None = None,
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: int = 0,
    special: bool = True,
    optimiser: Optimiser = "opentsne",
) -> States:
    """t-SNE of the hidden states after each layer (all layers if none is named), one point a token.

    >>> from headatlas import tsne
    >>> found = tsne.hidden("packaged", "The cat sat on the mat, and the dog lay on the floor.", layers=[0])
    >>> found.layout(0).shape
    (17, 2)
    """
    reading = read(source, text)
    chosen = _chosen(reading, layers)
    vectors, points = {}, {}
    for layer in chosen:
        side = reading.side(layer.kind, True)
        keep = ~side.special | special
        vectors[layer.index] = reading.hidden[layer.index][keep]
        points[layer.index] = [text.strip() for text, kept in zip(side.text, keep, strict=True) if kept]
    how = Vectors(perplexity, restarts, seed, optimiser)
    return laid_out(reading.model.name, reading.recipe() | {"special": special}, vectors, points, how)


@dataclass(frozen=True)
class Vectors:
    """How layouts of vectors are made; see `hidden`."""

    perplexity: float = PERPLEXITY
    restarts: int = 1
    seed: int = 0
    optimiser: Optimiser = "opentsne"


def laid_out(
    model: str,
    recipe: dict[str, Any],
    vectors: dict[int, NDArray[np.float32]],
    points: dict[int, list[str]],
    how: Vectors,
) -> States:
    """t-SNE of the vectors of each layer, turned into a common orientation."""
    found = {}
    with progress.bar("laying out", len(vectors), "layers") as advance:
        for layer, own in vectors.items():
            found[layer] = standard(
                own, perplexity=how.perplexity, restarts=how.restarts, seed=(how.seed, layer), optimiser=how.optimiser
            )
            advance(1)
    turned: dict[int, NDArray[np.float32]] = {}
    for size in {len(own) for own in vectors.values()}:
        turned |= align({layer: one.layout for layer, one in found.items() if len(one.layout) == size})
    return States(
        model, recipe | asdict(how), points, {layer: turned[layer] for layer in found},
        {layer: one.kl for layer, one in found.items()}, {layer: one.notes for layer, one in found.items()},
    )  # fmt: skip


def _chosen(reading: Reading, layers: list[int] | None) -> list[Layer]:
    there = [layer for layer in reading.model.layers if layer.index in reading.hidden]
    numbers = [layer.index for layer in there]
    wrong = next((one for one in layers or [] if one not in numbers), None)
    if wrong is not None:
        raise OptionError(f"layer {wrong}: hidden states are known of layers {numbers[0]} to {numbers[-1]}")
    return [layer for layer in there if layers is None or layer.index in layers]
