"""Heads that do the same on every text, as a control: what an encoder makes of the text alone.

Their attention follows fixed rules (evenly, to the previous token, to the first …) and never depends on the words.
Pooled maps and statistics are computed by the kernel of `collect` on the real tokens. Statistics that count tokens (the
same token elsewhere, punctuation) still differ from text to text; clusters that tell kinds of texts apart in these
heads see the text, not what a head does with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import headatlas as ha
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_tokens
from headatlas.models.model import Model
from headatlas.stages.collect import kernel
from headatlas.stages.collect.layout import text_layout
from headatlas.stages.collect.stat_axis import statistics_of

NAMES = ("even", "previous", "first", "near", "fading", "half first", "self", "random")


def attention(n: int, causal: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """Maps (head, query, key) of all control heads for a text of `n` tokens.

    >>> maps = attention(4, True, np.random.default_rng(0))
    >>> maps.shape, bool(np.allclose(maps.sum(-1), 1)), float(maps[1, 2].argmax())
    ((8, 4, 4), True, 1.0)
    """
    place = np.arange(n)
    distance = place[None] - place[:, None]
    first = np.tile(place == 0, (n, 1)).astype(np.float64)
    previous = (distance == -1).astype(np.float64)
    previous[0, 0] = 1
    maps = np.stack(
        [
            np.ones((n, n)),
            previous,
            first,
            (np.abs(distance) <= 5).astype(np.float64),
            np.exp(-np.abs(distance) / 8),
            0.7 * first + 0.3 / n,
            np.eye(n),
            np.exp(rng.standard_normal((n, n))),
        ]
    )
    maps = maps + 1e-9
    maps = np.tril(maps) if causal else maps
    shares: NDArray[np.float64] = maps / maps.sum(-1, keepdims=True)
    return shares


def collected(atlas: Atlas, model: Model, resolution: int = 32) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Pooled maps (example, head, query, key) and statistics (example, head, stat) of the control heads."""
    statistics, layer = statistics_of(model), model.layers[0]
    examples = atlas.array("pooled").shape[0]
    pooled = np.empty((examples, len(NAMES), resolution, resolution), np.float32)
    stats = np.empty((examples, len(NAMES), len(statistics.names)), np.float32)
    for number, encoded in enumerate(read_tokens(atlas, list(range(examples)))):
        tokens, n = encoded.source, len(encoded.source)
        with np.errstate(divide="ignore"):
            scores = np.log(attention(n, layer.causal, np.random.default_rng(number))).astype(np.float32)
        last = np.arange(1, n + 1) if layer.causal else np.full(n, n)
        reach = np.stack([np.zeros(n, np.int64), last])
        layout = text_layout(tokens, tokens, statistics.specials, statistics.separator, resolution, layer.causal)
        sums = np.empty((len(NAMES), statistics.count))
        kernel.reduce_heads(scores, reach, last, layout, pooled[number], sums)
        stats[number] = statistics.from_sums(sums, layer.kind, n)
    return pooled, stats


def main() -> None:
    """The statistics of control heads on two texts, for a look."""
    atlas = ha.collect.maps("packaged", ["The cat sat.", "cat cat cat cat"], "memory://control.atlas")
    _, stats = collected(atlas, ha.models.load("packaged"))
    same = statistics_of(ha.models.load("packaged")).names.index("same_token")
    for name, values in zip(NAMES, stats[..., same].T, strict=True):
        print(f"{name:<12}{values.round(3)}")


if __name__ == "__main__":
    main()
