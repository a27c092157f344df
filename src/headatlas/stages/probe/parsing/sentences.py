"""Sentences of a treebank with the maps between their words, by every head, of a model and of the same untrained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.tokens import read_rows
from headatlas.models.encode import Tokens
from headatlas.models.model import Layer
from headatlas.numeric.spanning import is_tree
from headatlas.numeric.words import word_maps
from headatlas.stages.probe.source import ExampleMaps, Source

Maps = NDArray[np.float16]

TREE = ("head", "deprel")  # columns of the examples, lists with one value per word
PUNCTUATION = "punct"  # the relation of words that are not scored

NO_TREE = "no tree"  # why a sentence is left out
NO_TOKENS = "words without tokens"
WINDOWS = "windows"

PART = pa.schema([
    ("example", pa.int64()), ("skipped", pa.string()), ("form", pa.list_(pa.string())), ("head", pa.list_(pa.int32())),
    ("punctuation", pa.list_(pa.bool_())), ("trained", pa.large_binary()), ("untrained", pa.large_binary()),
])  # fmt: skip


def attending(layers: Sequence[Layer]) -> list[Layer]:
    """The layers whose queries and keys are the words of the sentence: of an encoder-decoder, those of its encoder."""
    kinds = {layer.kind for layer in layers}
    return [layer for layer in layers if layer.kind == "encoder" or "encoder" not in kinds]


def part_rows(source: Source, numbers: list[int], first: int, seed: int | None) -> list[dict[str, Any]]:
    """One row per sentence, by the number of its example counted from `first`.

    Maps are (query, key, head) in float16, in which node 0 is the special tokens and node w is word w, from 1. `seed`
    is that of the untrained model, None for none.
    """
    if not numbers:
        return []
    columns = [*TREE, "windows", *(["form"] if "form" in source.atlas.table_columns("examples") else [])]
    trees = dict(zip(numbers, read_rows(source.atlas, numbers, columns), strict=True))
    rows = {}
    for example in source.maps(numbers):
        rows[example.number] = _row(example, source.model.layers, trees[example.number], first)
    usable = [number for number in numbers if rows[number]["skipped"] is None]
    if seed is not None and usable:
        untrained = source.untrained(seed)
        for example in untrained.maps(usable):
            words = len(rows[example.number]["head"])
            rows[example.number]["untrained"] = node_maps(example, untrained.model.layers, words).tobytes()
    return [rows[number] for number in numbers]


def _row(example: ExampleMaps, layers: Sequence[Layer], tree: dict[str, Any], first: int) -> dict[str, Any]:
    assert example.encoded is not None  # a treebank has texts
    row: dict[str, Any] = {"example": first + example.number}
    row["skipped"] = reason = reason_to_skip(tree, example.encoded.source)
    if reason is not None:
        return row
    row |= {"form": tree.get("form"), "head": tree["head"]}
    row["punctuation"] = [relation.split(":")[0] == PUNCTUATION for relation in tree["deprel"]]
    return row | {"trained": node_maps(example, layers, len(tree["head"])).tobytes()}


def reason_to_skip(tree: dict[str, Any], tokens: Tokens) -> str | None:
    """Why a sentence cannot be used: its heads are not a tree, or not every word of it was read."""
    heads = tree["head"]
    if not heads or None in (*heads, *tree["deprel"]) or not is_tree(np.array(heads)):
        return NO_TREE
    if tree["windows"] > 1:
        return WINDOWS
    read = np.unique(tokens.word[tokens.word >= 0])
    return None if len(read) == len(heads) and read[-1] == len(heads) - 1 else NO_TOKENS


def node_maps(example: ExampleMaps, layers: Sequence[Layer], words: int) -> Maps:
    """Maps (query, key, head) among the special tokens together, node 0, and the words."""
    parts = []
    for layer in attending(layers):
        tokens = example.tokens(layer, queries=False)
        assert tokens is not None  # a treebank has texts
        node = np.where(tokens.word >= 0, tokens.word + 1, np.where(tokens.special, 0, -1))
        parts.append(word_maps(example.maps[layer.index], node, words + 1).astype(np.float16))
    return np.ascontiguousarray(np.concatenate(parts).transpose(1, 2, 0))
