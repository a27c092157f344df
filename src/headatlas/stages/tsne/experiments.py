"""Two experiments: how well attention and hidden states fit in the plane, and how disturbance changes that.

Both sides are laid out by the same optimiser, so that a difference in KL comes from the probabilities.
Every layout of every run is a row: text, layer, head (−1 for standard t-SNE of the hidden states), run, kl.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import data
from headatlas.data import Dataset, Example
from headatlas.errors import DataError, OptionError
from headatlas.models.model import Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne import blocks, kernel
from headatlas.stages.tsne.activity import head_activity
from headatlas.stages.tsne.affinity import Empty
from headatlas.stages.tsne.blocks import Rows
from headatlas.stages.tsne.heads import Head, Wanted, choose, head_affinity
from headatlas.stages.tsne.lanes import WIDTH
from headatlas.stages.tsne.reading import Reading, Source, model_of, opened, read, with_tokens
from headatlas.stages.tsne.standard import FEWEST, PERPLEXITY, Optimiser, standard
from headatlas.stages.tsne.summary import STANDARD

TOGETHER = 20  # disturbed texts in a block

Texts = Dataset | str | Iterable[str] | Iterable[Example]
Kl = NDArray[np.float64]


def compare(
    source: Source,
    texts: Texts,
    folder: str | os.PathLike[str],
    *,
    runs: int = 16,
    heads: Wanted = "all",
    perplexity: float = PERPLEXITY,
    seed: int = 0,
    special: bool = True,
    optimiser: Optimiser = "kernel",
) -> pa.Table:
    """KL of head t-SNE and of standard t-SNE of the hidden states, per layer, over repeated runs from random starts.

    Written into `folder`, a block a text; the same call goes on after a stop. `optimiser="opentsne"` lays hidden states
    out by openTSNE instead of our kernel; heads always use the kernel.
    """
    model, examples, recipe = _begun(source, texts, seed, perplexity, special)
    if runs < 2:
        raise OptionError(f"runs {runs}: a deviation needs at least 2")
    chosen = choose(model, heads)
    recipe |= {"runs": runs, "heads": [list(one) for one in chosen], "optimiser": optimiser}
    place = blocks.begin(folder, "compare", recipe)
    fit = Fit(perplexity, special, optimiser)

    @single_thread()
    def make(number: int) -> Rows:
        reading = _reading(model, examples[number])
        rows = []
        for layer, head in _with_standard(reading, chosen):
            kl = fit.kl(reading, layer, head, runs, (seed, number, layer, head + 1))
            rows += [_row(examples[number].id, reading, layer, head, run, one) for run, one in enumerate(kl)]
        return rows

    return blocks.run(place, len(examples), make, "texts")


def robustness(
    source: Source,
    texts: Texts,
    folder: str | os.PathLike[str],
    *,
    share: float = 0.05,
    repeats: int = 1000,
    heads: Wanted = "active",
    perplexity: float = PERPLEXITY,
    seed: int = 0,
    special: bool = True,
) -> pa.Table:
    """KL with and without a disturbance: `share` of the tokens replaced by tokens drawn from the same text.

    `heads="active"` takes the head of highest activity of each layer. For each of `repeats` disturbed texts the model
    is run again and both kinds of t-SNE are fitted anew from 8 random starts; beside them stand as many fits of the
    text as it is. Rows have `disturbed` and `repeat` as well. Resumable, a block for every 20 disturbed texts.
    """
    model, examples, recipe = _begun(source, texts, seed, perplexity, special)
    if not 0 < share < 1 or repeats < 2:
        raise OptionError(
            f"share {share:g}, repeats {repeats}: a share is between 0 and 1, and 2 repeats are the least"
        )
    readings = [_reading(model, example) for example in examples]
    chosen = [active_heads(one) if heads == "active" else choose(model, heads) for one in readings]
    recipe |= {"share": share, "repeats": repeats, "heads": [[list(one) for one in own] for own in chosen]}
    place = blocks.begin(folder, "robustness", recipe)
    groups = -(-repeats // TOGETHER)
    fit = Fit(perplexity, special, "kernel")

    @single_thread()
    def make(number: int) -> Rows:
        text, group = divmod(number, groups)
        plain, rows = readings[text], []
        numbers = range(group * TOGETHER, min((group + 1) * TOGETHER, repeats))
        pairs = _with_standard(plain, chosen[text])
        extra: dict[str, Any] = {"disturbed": False, "repeat": -1}
        for layer, head in pairs:
            kl = fit.kl(plain, layer, head, len(numbers) * WIDTH, (seed, text, group, layer, head + 1, 0))
            rows += [_row(examples[text].id, plain, layer, head, run, one) | extra for run, one in enumerate(kl)]
        for repeat in numbers:
            other = disturbed(plain, share, (seed, text, repeat))
            for layer, head in pairs:
                kl = fit.kl(other, layer, head, WIDTH, (seed, text, repeat, layer, head + 1, 1))
                extra = {"disturbed": True, "repeat": repeat}
                rows += [_row(examples[text].id, other, layer, head, run, one) | extra for run, one in enumerate(kl)]
        return rows

    return blocks.run(place, groups * len(examples), make, "blocks")


@dataclass(frozen=True)
class Fit:
    """How a layout is made."""

    perplexity: float
    special: bool
    optimiser: Optimiser

    def kl(self, reading: Reading, layer: int, head: int, runs: int, seed: tuple[int, ...]) -> Kl:
        """KL of so many runs; NaN where a head gives nothing to lay out."""
        one = reading.model.layers[layer]
        if head == STANDARD:
            keep = ~reading.side(one.kind, True).special | self.special
            return standard(
                reading.hidden[layer][keep], perplexity=self.perplexity, restarts=runs, seed=seed,
                optimiser=self.optimiser,
            ).kl  # fmt: skip
        try:
            found = head_affinity(reading, one, head, self.special)
        except Empty:
            return np.full(runs, np.nan)
        return kernel.layouts(found.p, restarts=runs, seed=seed)[1]


def disturbed(reading: Reading, share: float, seed: tuple[int, ...]) -> Reading:
    """The text with a share of its tokens (at least one, no special ones) replaced by others drawn from itself."""
    assert reading.encoded is not None  # an image is refused before
    dice = np.random.default_rng(seed)
    ids, own = reading.encoded.source.ids.copy(), np.flatnonzero(~reading.encoded.source.special)
    places = dice.choice(own, max(1, round(share * len(own))), replace=False)
    ids[places] = ids[dice.choice(own, len(places))]
    return with_tokens(reading, ids)


def active_heads(reading: Reading) -> list[Head]:
    """The head of highest activity of each layer; of equals the first."""
    found = []
    for layer in reading.model.layers:
        special = reading.side(layer.kind, False).special
        values = [head_activity(own, special, layer.kind == "cross") for own in reading.maps[layer.index]]
        found.append((layer.index, int(np.argmax(values))))
    return found


def _begun(
    source: Source, texts: Texts, seed: int, perplexity: float, special: bool
) -> tuple[Model, list[Example], dict[str, Any]]:
    found = opened(source)
    model = found if isinstance(found, Model) else model_of(found)
    if model.modality != "text":
        raise OptionError(f"{model.name} reads images: these experiments are for texts")
    dataset = texts if isinstance(texts, Dataset) else data.load(texts)
    examples = list(dataset)
    if not examples:
        raise DataError(f"{dataset.name} has no text")
    recipe = {"model": model.hash, "data": dataset.fingerprint, "seed": seed, "perplexity": perplexity}
    return model, examples, recipe | {"special": special, "kernel": kernel.RECIPE}


def _reading(model: Model, example: Example) -> Reading:
    reading = read(model, example)
    assert reading.maps and reading.hidden  # forward passes here, before threads share them
    own = int((~reading.side("encoder", True).special).sum())
    if own < FEWEST:
        raise DataError(f"text {example.id} has {own} tokens of its own: the experiments need at least {FEWEST}")
    return reading


def _with_standard(reading: Reading, heads: list[Head]) -> list[Head]:
    """The heads, and standard t-SNE of each of their layers that has hidden states."""
    layers = sorted({layer for layer, _ in heads} & set(reading.hidden))
    return heads + [(layer, STANDARD) for layer in layers]


def _row(text: str, reading: Reading, layer: int, head: int, run: int, kl: float) -> dict[str, Any]:
    count = len(reading.side(reading.model.layers[layer].kind, True).text)
    return {"text": text, "tokens": count, "layer": layer, "head": head, "run": run, "kl": float(kl)}
