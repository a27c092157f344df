"""Every array and table of an atlas: its axes, its type, how it is cut, and which stage writes it.

Axes always come in the order `example layer head query key feature`. Sequences are ragged, and no map is stored
padded: tokens of all examples lie end to end in the table `tokens`, and maps are brought to one size. The first axis of
an array is cut in *blocks*: a block is computed, written and checked as a whole. Where an array has a row for each
sampled token, each example begins at a block of its own; the rows between are NaN, and the table `sampled` says which
are whose.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMAT = 1

STAGES = ("collect",)
TABLE_ROWS = 128  # examples in a row group of `examples` and `tokens`; blocks of examples divide it


@dataclass(frozen=True, slots=True)
class Array:
    """An array of an atlas, at `STAGE.zarr/NAME`."""

    name: str
    stage: str
    axes: tuple[str, ...]
    dtype: str
    note: str
    pieces: tuple[str, ...] = ()  # axes along which a block is cut again, so that one head is read without the others


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an atlas, a Parquet file."""

    name: str
    stage: str
    path: str
    note: str


ARRAYS = (
    Array(
        "pooled",
        "collect",
        ("example", "layer", "head", "query", "key"),
        "float16",
        "each map brought to one size, mass preserved: every row sums to 1",
        ("layer", "head"),
    ),
    Array(
        "pooled_mean",
        "collect",
        ("block", "layer", "head", "query", "key"),
        "float32",
        "mean of `pooled` over the examples of a block",
    ),
    Array(
        "stats", "collect", ("example", "layer", "head", "stat"), "float32", "statistics of each map; NaN: undefined"
    ),
    Array(
        "query",
        "collect",
        ("row", "layer", "head", "feature"),
        "float16",
        "queries of the sampled tokens, after rotary embedding",
    ),
    Array(
        "key",
        "collect",
        ("row", "layer", "key_head", "feature"),
        "float16",
        "keys of the sampled tokens, after rotary embedding",
    ),
    Array("value_norm", "collect", ("row", "layer", "key_head"), "float32", "lengths of the sampled tokens' values"),
)

TABLES = (
    Table(
        "examples",
        "collect",
        "examples.parquet",
        "one row an example (a window of a long one) with the dataset's columns",
    ),
    Table("tokens", "collect", "tokens.parquet", "one row a token, all examples end to end"),
    Table(
        "layers", "collect", "collect/layers.parquet", "one row a layer: kind, heads, key heads, width, causal or not"
    ),
    Table("heads", "collect", "collect/heads.parquet", "one row a head: mean of each statistic over all examples"),
    Table("sampled", "collect", "collect/sampled.parquet", "examples whose queries and keys are kept, and where"),
)


def array(name: str) -> Array:
    """The array of this name."""
    return next(one for one in ARRAYS if one.name == name)


def table(name: str) -> Table:
    """The table of this name."""
    return next(one for one in TABLES if one.name == name)
