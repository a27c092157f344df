"""Pairs of heads: distances by example, their means, heads as points and as a tree, and heads of one layer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.models.model import Layer
from headatlas.numeric.estimates import mean_over_sources
from headatlas.numeric.jensen_shannon import divergence_sums
from headatlas.stages.probe.measures import LEAST, PLACE
from headatlas.stages.probe.source import ExampleMaps, Source

Floats = NDArray[np.float64]
Head = tuple[int, int]

PERMUTATIONS = 999
STARTS = 4  # of multidimensional scaling; the best is kept

PART = pa.schema([
    ("example", pa.int64()), ("kind", pa.string()), ("tokens", pa.int64()), ("sums", pa.list_(pa.float32()))
])  # fmt: skip
WHOLE, REAL = pa.int32(), pa.float64()
PAIRS = pa.schema([*PLACE, ("other_layer", WHOLE), ("other_head", WHOLE), ("distance", REAL)])
MAP = pa.schema([*PLACE, ("kind", pa.string()), ("x", REAL), ("y", REAL), ("order", WHOLE)])
TREE = pa.schema([("kind", pa.string()), ("first", WHOLE), ("second", WHOLE), ("height", REAL), ("heads", WHOLE)])


def heads_by_kind(layers: tuple[Layer, ...]) -> dict[str, list[Head]]:
    """The heads that can be compared: rows of different kinds of layers are over different tokens."""
    kinds: dict[str, list[Head]] = {}
    for layer in layers:
        kinds.setdefault(layer.kind, []).extend((layer.index, head) for head in range(layer.heads))
    return kinds


def part_table(source: Source, numbers: list[int]) -> pa.Table:
    """One row per example and kind of layer."""
    rows = [row for example in source.maps(numbers) for row in _rows(example, source.model.layers)]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["example"]), schema=PART)


def _rows(example: ExampleMaps, layers: tuple[Layer, ...]) -> Iterator[dict[str, Any]]:
    for kind in heads_by_kind(layers):
        chosen = [layer for layer in layers if layer.kind == kind]
        maps = np.concatenate([example.maps[layer.index] for layer in chosen])  # (head, query, key)
        sums = divergence_sums(maps, causal=all(layer.causal for layer in chosen))
        lower = sums[np.tril_indices(len(sums), -1)]
        yield {"example": example.number, "kind": kind, "tokens": maps.shape[1], "sums": lower.astype(np.float32)}


def joined(source: Source, rows: pa.Table, seed: int) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables of all kinds of layers, and what the test of heads of one layer says."""
    pairs: list[dict[str, Any]] = []
    places: list[dict[str, Any]] = []
    merges: list[dict[str, Any]] = []
    tests = {}
    for kind, heads in heads_by_kind(source.model.layers).items():
        chosen = rows.filter(pa.compute.equal(rows["kind"], kind))
        sums = np.stack(chosen["sums"].to_numpy())  # (example, pair)
        tokens = chosen["tokens"].to_numpy()
        means = square(sums.sum(0, dtype=np.float64) / tokens.sum(), len(heads))
        pairs += _pair_rows(heads, means)
        place_rows, merge_rows = _placed(heads, means, kind, seed)
        places, merges = places + place_rows, merges + merge_rows
        groups = source.groups[chosen["example"].to_numpy()]
        tests[kind] = same_layer(sums / tokens[:, None], groups, np.array([layer for layer, _ in heads]), seed)
    tables = {
        "probe_distances": pa.Table.from_pylist(pairs, schema=PAIRS),
        "probe_distance_map": pa.Table.from_pylist(places, schema=MAP),
        "probe_distance_tree": pa.Table.from_pylist(merges, schema=TREE),
    }
    return tables, {"same_layer": tests}


def square(lower: NDArray[Any], heads: int) -> Floats:
    """The symmetric matrix of a lower triangle, row by row.

    >>> square(np.array([1.0, 2.0, 3.0]), 3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
    """
    matrix = np.zeros((heads, heads))
    matrix[np.tril_indices(heads, -1)] = lower
    return matrix + matrix.T


def _pair_rows(heads: list[Head], distances: Floats) -> list[dict[str, Any]]:
    rows = []
    for first, (layer, head) in enumerate(heads):
        for second in range(first + 1, len(heads)):
            other = {"other_layer": heads[second][0], "other_head": heads[second][1]}
            rows.append({"layer": layer, "head": head} | other | {"distance": distances[first, second]})
    return rows


def _placed(
    heads: list[Head], distances: Floats, kind: str, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Heads as points, with their order in the tree; and the merges of the tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(heads) < 2:
        rows = [{"layer": layer, "head": head, "kind": kind, "x": 0.0, "y": 0.0, "order": 0} for layer, head in heads]
        return rows, []
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    order = np.argsort(leaves_list(tree))
    positions = multidimensional_scaling(distances, seed)
    rows = [
        {"layer": layer, "head": head, "kind": kind, "x": x, "y": y, "order": int(order[number])}
        for number, ((layer, head), (x, y)) in enumerate(zip(heads, positions.tolist(), strict=True))
    ]
    merges = [
        {"kind": kind, "first": int(first), "second": int(second), "height": height, "heads": int(size)}
        for first, second, height, size in tree.tolist()
    ]
    return rows, merges


def multidimensional_scaling(distances: Floats, seed: int) -> Floats:
    """Positions (head, 2) whose distances are as near to these as can be, from the best of several starts."""
    from sklearn.manifold import MDS

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # names of options change between versions
        how = {"n_init": STARTS, "max_iter": 1000, "eps": 1e-8, "normalized_stress": "auto"}
        model = MDS(2, dissimilarity="precomputed", random_state=seed, **how)
        positions: Floats = model.fit_transform(distances)
    return positions


def same_layer(by_example: NDArray[Any], groups: NDArray[Any], layer: NDArray[Any], seed: int) -> dict[str, Any]:
    """Whether two heads of one layer are nearer than two of different layers.

    The difference of the two means is taken for each example, and averaged over sources with an interval. p is the
    share of permutations of the heads in which the difference is at least as large.
    """
    first, second = np.tril_indices(len(layer), -1)
    means = by_example.mean(0, dtype=np.float64)
    within = layer[first] == layer[second]
    if within.all() or not within.any():
        return {"within": None, "between": None, "difference": None, "low": None, "high": None, "p": None}
    contrast = np.where(within, -1 / within.sum(), 1 / (~within).sum())
    estimate = mean_over_sources((by_example @ contrast)[:, None], groups, LEAST)
    observed = float(means @ contrast)
    rng, reached = np.random.default_rng(seed), 1
    for _ in range(PERMUTATIONS):
        shuffled = rng.permutation(layer)
        same = shuffled[first] == shuffled[second]
        reached += float(means[~same].mean() - means[same].mean()) >= observed - 1e-12
    numbers = {"within": means[within].mean(), "between": means[~within].mean(), "difference": estimate.mean[0]}
    numbers |= {"low": estimate.low[0], "high": estimate.high[0]}
    facts = {name: None if np.isnan(value) else round(float(value), 6) for name, value in numbers.items()}
    return facts | {"p": reached / (PERMUTATIONS + 1)}
