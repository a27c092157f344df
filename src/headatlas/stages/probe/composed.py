"""Pairs of heads that connect: by their weights, and by their composed maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.models.head_weights import HeadWeights
from headatlas.models.model import Layer
from headatlas.numeric.composition import strength, triangle
from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.measures import LEAST
from headatlas.stages.probe.source import ExampleMaps, Source

Floats = NDArray[np.float64]
Pair = tuple[int, int, int, int]  # layer and head of the earlier, and of the later

KINDS = ("key", "query", "value")
RANDOM = 32  # pairs of the same layers with which a composed map is compared, drawn at random
NUMBERS = ("score", "baseline", "excess", "z")
WHOLE, REAL = pa.int32(), pa.float64()
PLACE = [(name, WHOLE) for name in ("layer_a", "head_a", "layer_b", "head_b")]
MEASURED = ("focus", "repeat")
GAINS = [f"{name}{end}" for name in MEASURED for end in ("", "_gain", "_low", "_high")]
PAIRS = pa.schema([
    ("kind", pa.string()), ("rank", WHOLE), *PLACE, *((name, REAL) for name in (*NUMBERS, *GAINS)),
    ("texts", pa.int64()),
])  # fmt: skip
PART = pa.schema([("example", pa.int64()), *PLACE, *((name + end, REAL) for name in MEASURED for end in ("", "_gain"))])


def factors(weights: HeadWeights) -> dict[str, Floats]:
    """What the heads of a layer write, and what they read by each kind of composition, each by one thin matrix.

    W_QK = W_Q W_Kᵀ and W_OV = W_V W_O are never formed: an outer factor counts by its triangle alone.
    """
    query, key, value, output = (
        getattr(weights, name).numpy() for name in ("query", "key", "value", "output")
    )  # fmt: skip
    return {
        "writes": triangle(value) @ output,  # (head, feature, hidden), as long as W_V W_O
        "key": key @ triangle(query).swapaxes(1, 2),  # (head, hidden, feature), as long as W_K W_Qᵀ
        "query": query @ triangle(key).swapaxes(1, 2),
        "value": value @ triangle(output.swapaxes(1, 2)).swapaxes(1, 2),
    }


def connections(layers: tuple[Layer, ...], weights: dict[int, HeadWeights]) -> Iterator[dict[str, Any]]:
    """Scores of all pairs of heads in different layers of one stack, layer by layer and kind by kind."""
    parts = {index: factors(each) for index, each in weights.items()}
    for earlier in layers:
        for later in layers:
            if earlier.index < later.index and earlier.kind == later.kind and later.index in parts:
                for kind in KINDS:
                    scores = strength(parts[earlier.index]["writes"], parts[later.index][kind])
                    yield {"kind": kind, "layer_a": earlier.index, "layer_b": later.index, "found": scores}


def strongest(layers: tuple[Layer, ...], weights: dict[int, HeadWeights], top: int) -> list[dict[str, Any]]:
    """The `top` pairs of each kind with the largest excess of the score."""
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for each in connections(layers, weights):
        score, baseline, z = each["found"]
        for place in np.argsort(-score, axis=None, kind="stable")[:top]:
            first, second = (int(axis) for axis in np.unravel_index(place, score.shape))
            place_of = {"layer_a": each["layer_a"], "head_a": first, "layer_b": each["layer_b"], "head_b": second}
            number = float(score[first, second])
            numbers = {"score": number, "baseline": baseline, "excess": number - baseline, "z": float(z[first, second])}
            rows[each["kind"]].append({"kind": each["kind"]} | place_of | numbers)
    chosen = []
    for kind in KINDS:
        best = sorted(rows[kind], key=lambda row: (-row["excess"], row["layer_a"], row["layer_b"]))[:top]
        chosen += [row | {"rank": rank} for rank, row in enumerate(best)]
    return chosen


def pair_of(row: dict[str, Any]) -> Pair:
    """The heads of a row."""
    return row["layer_a"], row["head_a"], row["layer_b"], row["head_b"]


def measured(first: Any, second: Any, same: NDArray[np.bool_] | None) -> dict[str, float]:
    """Of the composed map A_b A_a: the mean of the largest weight of a row, and the weight on the query's token.

    `same` (query, key) says which keys are other occurrences of the token of the query; rows without one do not count.
    """
    composed = second.astype(np.float64) @ first
    numbers = {"focus": float(composed.max(-1).mean()), "repeat": np.nan}
    if same is not None and same.any():
        numbers["repeat"] = float((composed * same).sum(-1)[same.any(-1)].mean())
    return numbers


def repeats(example: ExampleMaps, layer: Layer) -> NDArray[np.bool_] | None:
    """Which keys are other occurrences of a query's token, before it in a causal layer; special tokens left out."""
    tokens = example.tokens(layer, queries=True)
    if tokens is None:
        return None
    same: NDArray[np.bool_] = (
        (tokens.ids[:, None] == tokens.ids) & ~np.eye(len(tokens), dtype=bool) & ~np.asarray(tokens.special, bool)
    )
    return np.tril(same).astype(bool) if layer.causal else same


def example_rows(example: ExampleMaps, layers: tuple[Layer, ...], pairs: list[Pair], seed: int) -> Iterator[Any]:
    """The numbers of the composed maps of one example, and how much more they are than those of random pairs."""
    rng = np.random.default_rng([seed, example.number])
    usual: dict[tuple[int, int], dict[str, float]] = {}
    for pair in pairs:
        between = (pair[0], pair[2])
        same = repeats(example, layers[pair[2]])
        if between not in usual:
            drawn = [[int(rng.integers(layers[index].heads)) for index in between] for _ in range(RANDOM)]
            maps = [measured(example.maps[pair[0]][a], example.maps[pair[2]][b], same) for a, b in drawn]
            usual[between] = {name: float(np.mean([each[name] for each in maps])) for name in MEASURED}
        numbers = measured(example.maps[pair[0]][pair[1]], example.maps[pair[2]][pair[3]], same)
        gains = {f"{name}_gain": numbers[name] - usual[between][name] for name in MEASURED}
        yield (
            {"example": example.number}
            | dict(zip(("layer_a", "head_a", "layer_b", "head_b"), pair, strict=True))
            | numbers
            | gains
        )


def joined(source: Source, chosen: list[dict[str, Any]], rows: pa.Table) -> pa.Table:
    """The strongest pairs, with the means of their composed maps over texts."""
    frame = rows.to_pandas().groupby(["layer_a", "head_a", "layer_b", "head_b"])
    table = []
    for row in chosen:
        pair_rows = frame.get_group(pair_of(row))
        groups = source.groups[pair_rows["example"].to_numpy()]
        numbers: dict[str, Any] = {}
        for name in MEASURED:
            values = pair_rows[[name, f"{name}_gain"]].to_numpy()
            means = mean_over_sources(values, groups, LEAST)
            numbers |= {name: means.mean[0], f"{name}_gain": means.mean[1]}
            numbers |= {f"{name}_low": means.low[1], f"{name}_high": means.high[1], "texts": len(set(groups))}
        table.append(row | {name: None if value != value else value for name, value in numbers.items()})
    return pa.Table.from_pylist(table, schema=PAIRS)
