"""Queries, keys and norms of values of one layer on an example, as `collect` stored them for a sample of examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.views import example_table
from headatlas.web.views.snapshot import Snapshot

Half = NDArray[np.float16]


@dataclass(frozen=True)
class LayerVectors:
    """The vectors of a layer on an example. With grouped keys, each key head belongs to several heads."""

    query: Half  # (query, head, feature)
    key: Half  # (key, key head, feature)
    value_norm: NDArray[np.float32]  # (key, key head)


def layer_vectors(snapshot: Snapshot, example: int, layer: int) -> bytes:
    """Queries (query, head, feature), keys (key, key head, feature), then norms of values (key, key head)."""
    snapshot.check_map(example, layer)
    if not snapshot.has_vectors(example):
        raise RequestError(404, f"The queries and keys of example {example} are not stored: they are a sample.")
    vectors = read(snapshot, example, layer)
    return b"".join(arrays.halves(part).tobytes() for part in (vectors.query, vectors.key, vectors.value_norm))


def read(snapshot: Snapshot, example: int, layer: int) -> LayerVectors:
    """The vectors of a layer on one example."""
    offset, tokens = snapshot.sampled[example]
    rows = slice(offset, offset + tokens)
    parts = (snapshot.atlas.read(name, (rows, layer)) for name in ("query", "key", "value_norm"))
    return of_example(snapshot, example, layer, *parts)


def of_example(
    snapshot: Snapshot, example: int, layer: int, query: Half, key: Half, value_norm: NDArray[np.float32]
) -> LayerVectors:
    """What belongs to a layer in the rows of an example: those of its queries and keys, without empty heads."""
    facts = snapshot.atlas.header["model"]["layers"][layer]
    length, target = (example_table.integers(snapshot, name, 0)[example] for name in ("n_tokens", "n_target"))
    queries, keys = extents(facts["kind"], length, target)
    heads, key_heads, width = facts["heads"], facts["key_heads"], facts["width"]
    return LayerVectors(
        query[queries, :heads, :width], key[keys, :key_heads, :width], value_norm[keys, :key_heads]
    )  # fmt: skip


def extents(kind: str, tokens: int, target: int) -> tuple[slice, slice]:
    """The rows of queries and of keys among those of an example: the tokens of its target follow those of its source.

    >>> extents("encoder", 5, 3), extents("cross", 5, 3)
    ((slice(0, 5, None), slice(0, 5, None)), (slice(5, 8, None), slice(0, 5, None)))
    """
    source = slice(0, tokens)
    output = slice(tokens, tokens + target) if target else source
    return (source if kind == "encoder" else output), (output if kind == "decoder" else source)


def scaling_of(layer: Mapping[str, Any]) -> float:
    """What the products of a layer are multiplied by."""
    return float(layer.get("width", 1) ** -0.5 if layer.get("scaling") is None else layer["scaling"])
