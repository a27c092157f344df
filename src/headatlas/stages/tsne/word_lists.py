"""Standard t-SNE of a list of words or short texts, layer by layer: how a model orders professions, say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headatlas import __version__, progress
from headatlas.errors import DataError, OptionError
from headatlas.models.model import Model
from headatlas.stages.tsne.hidden import States, Vectors, laid_out
from headatlas.stages.tsne.reading import Source, model_of, opened, read
from headatlas.stages.tsne.standard import PERPLEXITY, Optimiser

Pool = Literal["auto", "first", "mean"]


def words(
    source: Source,
    texts: Sequence[str],
    *,
    layers: list[int] | None = None,
    pool: Pool = "auto",
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: int = 0,
    optimiser: Optimiser = "opentsne",
) -> States:
    """t-SNE of a list of words, each read by itself; a word of many tokens becomes one vector a layer.

    The vector is the hidden state of the first token if that is a special one such as [CLS] (`pool="first"`), else the
    mean over the word's own tokens (`pool="mean"`); `auto` chooses. For encoder-decoders it is the encoder's.

    >>> from headatlas import tsne
    >>> tsne.words("packaged", ["nurse", "baker", "pilot", "judge", "smith", "clown"], layers=[5]).layout(5).shape
    (6, 2)
    """
    listed = [text.strip() for text in texts]
    if len(listed) < 2 or not all(listed):
        raise DataError("a list of at least 2 words is needed, none of them empty")
    if pool not in ("auto", "first", "mean"):
        raise OptionError(f"pool {pool!r}: choose auto, first or mean")
    found = opened(source)
    model = found if isinstance(found, Model) else model_of(found)
    rows: dict[int, list[NDArray[np.float32]]] = {}
    with progress.bar("reading", len(listed), "words") as advance:
        for text in listed:
            for layer, vector in word_vectors(model, text, pool).items():
                rows.setdefault(layer, []).append(vector)
            advance(1)
    wrong = next((one for one in layers or [] if one not in rows), None)
    if wrong is not None:
        raise OptionError(f"layer {wrong}: hidden states are known of layers {min(rows)} to {max(rows)}")
    vectors = {layer: np.stack(own) for layer, own in rows.items() if layers is None or layer in layers}
    points = dict.fromkeys(vectors, listed)
    digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()[:16]
    recipe = {"version": __version__, "model": model.hash, "input": digest, "pool": pool}
    return laid_out(model.name, recipe, vectors, points, Vectors(perplexity, restarts, seed, optimiser))


def word_vectors(model: Model, text: str, pool: Pool = "auto") -> dict[int, NDArray[np.float32]]:
    """One vector a layer for a text."""
    reading = read(model, text)
    wanted: dict[int, NDArray[np.float32]] = {}
    for layer in model.layers:
        if layer.index not in reading.hidden or (model.encoder_decoder and layer.kind != "encoder"):
            continue
        side, states = reading.side(layer.kind, True), reading.hidden[layer.index]
        first = pool == "first" or (pool == "auto" and bool(side.special[0]) and not layer.causal)
        own = states if side.special.all() else states[~side.special]
        wanted[layer.index] = states[0] if first else own.mean(0)
    return wanted
