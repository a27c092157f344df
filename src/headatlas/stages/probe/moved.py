"""What heads move, map by map: norms of attention times value times output projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from headatlas.models.model import Layer
from headatlas.models.output_weights import OutputWeights
from headatlas.stages.probe.measures import PLACE
from headatlas.stages.probe.source import ExampleMaps, Source

Floats = NDArray[np.float64]

TOP = 5  # pairs of each map that are kept
LISTED = 20  # pairs of each head in the table

PAIR = [("query", pa.int32()), ("key", pa.int32()), ("query_token", pa.string()), ("key_token", pa.string()),
        ("moved", pa.float64()), ("weight", pa.float64())]  # fmt: skip
PAIRS_OF_MAP = ("pairs", pa.list_(pa.struct(PAIR)))
PAIRS = pa.schema([*PLACE, ("rank", pa.int32()), ("example", pa.int64()), *PAIR])


def map_rows(source: Source, numbers: list[int]) -> Iterator[dict[str, Any]]:
    """For every map its measures, and its strongest pairs of tokens, special tokens left out."""
    weights = source.output_weights
    for example in source.maps(numbers, values=True):
        for layer in source.model.layers:
            yield from layer_rows(example, layer, weights[layer.index])


def layer_rows(example: ExampleMaps, layer: Layer, weights: OutputWeights) -> Iterator[dict[str, Any]]:
    """The numbers of every map of one example in one layer."""
    maps, values = example.maps[layer.index], example.values[layer.index]
    norms = weights.value_norms(values).numpy().astype(np.float64)  # (head, key)
    moved = maps * norms[:, None]  # (head, query, key)
    numbers = {"written": _written(maps, values, weights), "moved": moved.sum(-1).mean(-1)}
    numbers |= _shares(example, layer, moved)
    for head in range(layer.heads):
        row = {name: float(of_heads[head]) for name, of_heads in numbers.items()}
        pairs = list(_pairs(example, layer, moved[head], maps[head]))
        yield {"example": example.number, "layer": layer.index, "head": head} | row | {"pairs": pairs}


def _written(maps: NDArray[np.float32], values: Any, weights: OutputWeights) -> Floats:
    """Mean over queries of the norm of what each head writes."""
    heads = len(maps)
    spread = values.float().repeat_interleave(heads // len(values), 0)
    outputs = torch.from_numpy(np.ascontiguousarray(maps)) @ spread @ weights.weight  # (head, query, hidden)
    written: Floats = torch.linalg.vector_norm(outputs, dim=-1).mean(-1).numpy().astype(np.float64)
    return written


def _shares(example: ExampleMaps, layer: Layer, moved: Floats) -> dict[str, Floats]:
    """Shares of what is moved by where it comes from; places count only where queries and keys are the same tokens."""
    total = moved.sum((1, 2))
    total = np.where(total > 0, total, np.nan)
    shares = {"from_first": moved[:, :, 0].sum(1) / total}
    if layer.kind != "cross":
        diagonal = (np.trace(moved, offset, 1, 2) / total for offset in (0, -1))
        shares |= dict(zip(("from_self", "from_previous"), diagonal, strict=True))
    tokens = example.tokens(layer, queries=False)
    if tokens is not None:
        shares["from_special"] = moved[:, :, np.asarray(tokens.special, bool)].sum((1, 2)) / total
    return shares


def _pairs(example: ExampleMaps, layer: Layer, moved: Floats, weights: Any) -> Iterator[dict[str, Any]]:
    """The pairs of tokens between which a head moves most."""
    queries, keys = (example.tokens(layer, queries=which) for which in (True, False))
    if queries is None or keys is None:
        return
    inner = moved * ~np.asarray(queries.special, bool)[:, None] * ~np.asarray(keys.special, bool)
    for place in np.argsort(-inner, axis=None, kind="stable")[:TOP]:
        query, key = (int(axis) for axis in np.unravel_index(place, inner.shape))
        if inner[query, key] > 0:
            text = {"query_token": queries.text[query], "key_token": keys.text[key]}
            size = {"moved": float(inner[query, key]), "weight": float(weights[query, key])}
            yield {"query": query, "key": key} | text | size


def strongest_pairs(source: Source, rows: pa.Table) -> pa.Table:
    """The strongest pairs of every head over all texts, each pair of tokens once."""
    listed: dict[tuple[int, int], list[dict[str, Any]]] = {head: [] for head in source.heads}
    for row in rows.select(["example", "layer", "head", "pairs"]).to_pylist():
        listed[row["layer"], row["head"]] += [pair | {"example": row["example"]} for pair in row["pairs"]]
    table = []
    for (layer, head), pairs in listed.items():
        pairs.sort(key=lambda pair: (-pair["moved"], pair["example"], pair["query"], pair["key"]))
        for rank, pair in enumerate(distinct(pairs)[:LISTED]):
            table.append({"layer": layer, "head": head, "rank": rank} | pair)
    return pa.Table.from_pylist(table, schema=PAIRS)


def distinct(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of all pairs of the same two tokens."""
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in pairs:
        kept.setdefault((pair["query_token"], pair["key_token"]), pair)
    return list(kept.values())
