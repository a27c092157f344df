"""Standard t-SNE of a list of words or short texts, layer by layer: for example, how a model orders professions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headatlas import __version__, progress
from headatlas.atlas.model import load_model
from headatlas.errors import DataError, OptionError
from headatlas.models.model import Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne.hidden import States, VectorOptions, Vectors, check_layers, lay_out_vectors
from headatlas.stages.tsne.layout_tables import Points
from headatlas.stages.tsne.reading import Source, open_source, read
from headatlas.stages.tsne.standard import PERPLEXITY, Optimizer

Pool = Literal["auto", "first", "mean"]


def words(
    source: Source,
    texts: Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    pool: Pool = "auto",
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: int = 0,
    optimizer: Optimizer = "opentsne",
) -> States:
    """Lay out a list of words by standard t-SNE of their hidden states, each word read by itself.

    >>> from headatlas import tsne
    >>> tsne.words("packaged", ["nurse", "baker", "pilot", "judge", "smith", "clown"], layers=[5]).layout(5).shape
    (6, 2)

    Parameters
    ----------
    source
        A model or an atlas, or the name of one. The model of an atlas is loaded; nothing is stored in it.
    texts
        At least two words or short texts.
    layers
        Numbers of layers; all if none are given. Of an encoder-decoder, layers of the encoder.
    pool
        How a word of many tokens becomes one vector per layer: "first" takes the hidden state of the first token,
        "mean" the mean over all tokens that are not special. "auto" is "first" where the first token is a special one
        such as [CLS] that sees the whole word, else "mean".
    perplexity, restarts, seed, optimizer
        As `tsne.hidden` takes them.

    Returns
    -------
    States
        Positions by layer, rotated alike, KL of every restart, and notes.
    """
    listed = [text.strip() for text in texts]
    if len(listed) < 2 or not all(listed):
        raise DataError("a list of at least 2 words is needed, none of them empty")
    if pool not in ("auto", "first", "mean"):
        raise OptionError(f"pool {pool!r}: choose auto, first or mean")
    source = open_source(source)
    model = source if isinstance(source, Model) else load_model(source)
    vectors = _vectors(model, listed, pool)
    check_layers(layers, list(vectors))
    chosen = {layer: layer_vectors for layer, layer_vectors in vectors.items() if layers is None or layer in layers}
    points = Points(listed, np.arange(len(listed)), np.ones(len(listed), bool))
    digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()[:16]
    recipe = {"version": __version__, "model": model.hash, "input": digest, "pool": pool}
    how = VectorOptions(perplexity, restarts, seed, optimizer)
    return lay_out_vectors(model.name, recipe, chosen, dict.fromkeys(chosen, points), how)


@single_thread()
def _vectors(model: Model, texts: list[str], pool: Pool) -> dict[int, Vectors]:
    """Vectors (text, feature) by layer."""
    rows: dict[int, list[NDArray[np.float32]]] = {}
    with progress.bar("reading", len(texts), "words") as advance:
        for text in texts:
            for layer, vector in word_vectors(model, text, pool).items():
                rows.setdefault(layer, []).append(vector)
            advance(1)
    return {layer: np.stack(vectors) for layer, vectors in rows.items()}


def word_vectors(model: Model, text: str, pool: Pool = "auto") -> dict[int, NDArray[np.float32]]:
    """One vector per layer for a text."""
    reading = read(model, text)
    vectors: dict[int, NDArray[np.float32]] = {}
    for layer in model.layers:
        if layer.index not in reading.hidden or (model.encoder_decoder and layer.kind != "encoder"):
            continue
        side, states = reading.side(layer.kind, True), reading.hidden[layer.index]
        first = pool == "first" or (pool == "auto" and bool(side.special[0]) and not layer.causal)
        plain = states if side.special.all() else states[~side.special]
        vectors[layer.index] = states[0] if first else plain.mean(0)
    return vectors
