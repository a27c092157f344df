"""What is kept for looking: mean maps of all models, and the maps of a few examples with their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas import engine
from headatlas.atlas.blocks import block_size
from headatlas.atlas.display import mean_maps
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_rows, read_tokens
from headatlas.compare.compared import Collection, Compared
from headatlas.compare.tables import EXAMPLES
from headatlas.stages.correlate.tables import make_table


def drawn_examples(count: int, examples: int, seed: int) -> list[int]:
    """The numbers of the first examples of a random order, sorted: a larger sample includes a smaller one.

    >>> drawn_examples(2, 10, seed=0), drawn_examples(5, 3, seed=0)
    ([4, 6], [0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(examples)
    return sorted(int(number) for number in order[:count])


def example_table(atlas: Atlas, numbers: Sequence[int], shift: NDArray[np.float64]) -> pa.Table:
    """One row per sampled example, with its tokens in the first atlas, and its shift (step, place) at every step."""
    columns = [name for name in ("id", "window") if name in atlas.table_columns("examples")]
    rows = read_rows(atlas, numbers, columns)
    tokens = _tokens(atlas, numbers)
    return make_table(
        [{"place": place, "example": number, "id": row["id"], "window": row.get("window"), "shift": [*shift[:, place]]}
         | dict(zip(("tokens", "target"), tokens[place], strict=True))
         for place, (number, row) in enumerate(zip(numbers, rows, strict=True))],
        EXAMPLES,
    )  # fmt: skip


def _tokens(atlas: Atlas, numbers: Sequence[int]) -> list[tuple[list[str], list[str] | None]]:
    """Tokens of the text and, of models with two sides, of the target; none of images."""
    if atlas.header["data"]["modality"] == "image" or "tokens" not in atlas.tables():
        return [([], None)] * len(numbers)
    encoded = read_tokens(atlas, numbers)
    return [(each.source.text, None if each.target is None else each.target.text) for each in encoded]


def write_maps(result: engine.Result, compared: Compared, numbers: Sequence[int]) -> list[str]:
    """Write both arrays; returns the files that hold their blocks."""
    collections = list(compared)
    shapes = np.array([each.atlas.array("pooled").shape[1:3] for each in collections])
    r = int(compared.first.atlas.array("pooled").shape[-1])
    layers, heads = shapes.max(0).tolist()
    sizes = {"place": len(numbers), "model": len(collections), "layer": layers, "head": heads, "query": r, "key": r}
    result.create_array("compare_mean", sizes, 1)
    result.create_array("compare_pooled", sizes, 1)
    files = []
    for each in collections:
        maps = _padded(mean_maps(each.atlas), layers, heads)
        files += result.write_blocks("compare_mean", each.number, maps[None])
    block = block_size(compared.first.atlas.array("pooled"))
    with progress.bar("keeping maps", len(numbers), "examples") as advance:
        for _, group in groupby(enumerate(numbers), lambda item: item[1] // block):
            places, rows = zip(*group, strict=True)
            maps = np.stack([_read(each, rows, layers, heads) for each in collections], 1)
            files += result.write_blocks("compare_pooled", places[0], maps)
            advance(len(places))
    return files


def _read(collection: Collection, numbers: Sequence[int], layers: int, heads: int) -> NDArray[np.float16]:
    """Maps (example, layer, head, …) of some examples that lie near one another."""
    maps = collection.atlas.read("pooled", slice(numbers[0], numbers[-1] + 1))
    return np.stack([_padded(maps[number - numbers[0]], layers, heads) for number in numbers])


def _padded(maps: NDArray[Any], layers: int, heads: int) -> NDArray[np.float16]:
    """Maps (layer, head, …) in float16, with NaN for layers and heads that others have."""
    padded = np.full((layers, heads, *maps.shape[2:]), np.nan, np.float16)
    padded[: maps.shape[0], : maps.shape[1]] = maps
    return padded
