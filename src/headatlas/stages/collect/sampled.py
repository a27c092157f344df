"""Queries, keys and norms of values of the sampled examples, stored as the maps are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.atlas.writer import Writer
from headatlas.models.batch import Batch
from headatlas.models.model import Kind, Layer, Model

NAMES = ("query", "key", "value_norm")


def row_block(lengths: Sequence[int]) -> int:
    """Rows in a block, a power of two that suits these examples: few empty rows, and few files.

    >>> row_block([15, 20, 14]), row_block([180, 90]), row_block([5000])
    (16, 128, 128)
    """
    mean = sum(lengths) // max(len(lengths), 1)
    return int(1 << (min(max(mean, 16), 128).bit_length() - 1))


def rows_for(tokens: int, block: int) -> int:
    """Rows of an example: its tokens, padded to whole blocks, so that no block is shared by two tasks.

    >>> rows_for(128, 128), rows_for(129, 128)
    (128, 256)
    """
    return -(-tokens // block) * block


@dataclass(frozen=True, slots=True)
class ExampleVectors:
    """The rows of one example."""

    offset: int
    query: NDArray[np.float16]  # (token, layer, head, feature)
    key: NDArray[np.float16]  # (token, layer, key head, feature)
    value_norm: NDArray[np.float32]  # (token, layer, key head)


class SampledVectors:
    """Collects the vectors of the sampled examples of a block."""

    def __init__(self, model: Model, sampled: dict[str, list[int]], examples: range, block: int) -> None:
        entries = zip(sampled["example"], sampled["offset"], sampled["tokens"], strict=True)
        self.vectors = {
            e: _empty(model, offset, rows_for(tokens, block)) for e, offset, tokens in entries if e in examples
        }

    def add(self, numbers: Sequence[int], batch: Batch, layer: Layer, vectors: tuple[Tensor, Tensor, Tensor]) -> None:
        """Add one layer of a batch; vectors are (example, head, token, feature)."""
        query, key, value = vectors
        for e, number in enumerate(numbers):
            if (example := self.vectors.get(number)) is None:
                continue
            n, m = batch.extent(e, layer.kind)
            first_query, first_key = _places(batch, e, layer.kind)
            example.query[first_query : first_query + n, layer.index, : layer.heads, : layer.width] = _half(
                query[e, :, :n]
            )
            keys = slice(first_key, first_key + m), layer.index, slice(layer.key_heads)
            example.key[*keys, : layer.width] = _half(key[e, :, :m])
            example.value_norm[keys] = _rows(value[e, :, :m].norm(dim=-1))

    def write(self, writer: Writer) -> list[str]:
        """Write all vectors; returns the files written."""
        return [
            file
            for example in self.vectors.values()
            for name in NAMES
            for file in writer.write_blocks(name, example.offset, getattr(example, name))
        ]


def _empty(model: Model, offset: int, rows: int) -> ExampleVectors:
    """Rows of NaN; in memory, layers come first: they are filled, compressed and read one by one."""
    shape = (len(model.layers), rows)
    return ExampleVectors(
        offset,
        np.full((*shape, model.heads, model.width), np.nan, np.float16).swapaxes(0, 1),
        np.full((*shape, model.key_heads, model.width), np.nan, np.float16).swapaxes(0, 1),
        np.full((*shape, model.key_heads), np.nan, np.float32).swapaxes(0, 1),
    )


def _places(batch: Batch, e: int, kind: Kind) -> tuple[int, int]:
    """First rows of an example's queries and keys: the tokens of its target follow those of its source."""
    target = batch.lengths[e] if batch.target_lengths else 0
    return (0 if kind == "encoder" else target), (target if kind == "decoder" else 0)


def _rows(values: Tensor) -> NDArray[Any]:
    """(head, token, …) as (token, head, …)."""
    return values.transpose(0, 1).numpy()


def _half(values: Tensor) -> NDArray[Any]:
    """The same in half precision; torch converts seven times as fast as NumPy."""
    return _rows(values.half())
