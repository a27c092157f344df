"""The words of a treebank and the heads of a model that find their relations, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.tokens import read_rows
from headatlas.models.model import Layer
from headatlas.numeric.words import strongest, word_maps
from headatlas.stages.probe.choices import unpacked_bits
from headatlas.stages.probe.source import ExampleMaps, Source

UP, DOWN = "up", "down"  # from a word to its head in the tree, and back
NOT_IN_ALL = ("punct", "root")  # relations that do not count among all of them

PART = pa.schema([
    ("example", pa.int64()), ("word", pa.int32()), ("relation", pa.string()), ("offset", pa.int32()),
    ("words", pa.int32()), ("found", pa.binary()),
])  # fmt: skip


def part_table(source: Source, numbers: list[int]) -> pa.Table:
    """One row per word that has a head in the tree, if both have tokens; `found` are the bits of heads that find it.

    Bits are in the order of the heads, first for the direction up, then for down.
    """
    trees = dict(zip(numbers, read_rows(source.atlas, numbers, ["head", "deprel"]), strict=True))
    rows: list[dict[str, Any]] = []
    for example in source.maps(numbers):
        rows += example_rows(example, source.model.layers, trees[example.number])
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["example"], row["word"])), schema=PART)


def example_rows(example: ExampleMaps, layers: tuple[Layer, ...], tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of one sentence; layers whose queries and keys are different tokens find nothing."""
    heads = np.array([head or 0 for head in tree["head"]])
    best = np.concatenate([_strongest(example, layer, len(heads)) for layer in layers])  # (head of the model, word)
    known = example.has_tokens(len(heads))
    for word, (above, relation) in enumerate(zip((heads - 1).tolist(), tree["deprel"], strict=True)):
        if not 0 <= above < len(heads) or above == word or not (known[word] and known[above]):
            continue
        hits = np.concatenate([best[:, word] == above, best[:, above] == word])
        yield {
            "example": example.number, "word": word, "relation": relation, "offset": above - word,
            "words": len(heads), "found": np.packbits(hits).tobytes(),
        }  # fmt: skip


def _strongest(example: ExampleMaps, layer: Layer, words: int) -> NDArray[np.int64]:
    word = example.words(layer)
    if word is None:
        return np.full((layer.heads, words), -1)
    return strongest(word_maps(example.maps[layer.index], word, words))


def unpacked(rows: pa.ChunkedArray, heads: int) -> NDArray[np.bool_]:
    """The bits as (row, direction, head)."""
    return unpacked_bits(rows, 2 * heads).reshape(-1, 2, heads)
