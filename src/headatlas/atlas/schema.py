"""Every array and table of an atlas: its axes, its type, how it is cut, and which stage writes it.

Axes always come in the order `example layer head query key feature`. Sequences are ragged, and no map is stored
padded: tokens of all examples lie end to end in the table `tokens`, and maps are brought to one size. The first axis of
an array is cut in *blocks*: a block is computed, written and checked as a whole. Where an array has a row for each
sampled token, each example begins at a block of its own; the rows between are NaN, and the table `sampled` says which
are whose.

Later stages can be run many times on one atlas: features of several encoders, several clusterings. Each such result has
a name, `of`, which is part of the path of its arrays and tables.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMAT = 1

STAGES = ("collect", "features", "cluster", "project", "correlate")
MISSING = -2  # label of a map that does not exist: its layer has fewer heads
NOISE = -1  # label of a map that belongs to no cluster
BOOKKEEPING = ("example", "id", "text", "pair", "image", "window", "windows", "offset", "cut")  # ours, in `examples`
LENGTHS = ("n_tokens", "n_target")  # ours too, but of interest to people
TABLE_ROWS = 128  # examples in a row group of `examples` and `tokens`; blocks of examples divide it


@dataclass(frozen=True, slots=True)
class Array:
    """An array of an atlas, at `STAGE.zarr/NAME` or, where a stage has many results, `STAGE.zarr/OF/NAME`."""

    name: str
    stage: str
    axes: tuple[str, ...]
    dtype: str
    note: str
    pieces: tuple[str, ...] = ()  # axes along which a block is cut again, so that one head is read without the others

    def inside(self, of: str | None) -> str:
        """Where it lies in the group of its stage."""
        return self.name if self.stage == "collect" else f"{of}/{self.name}"

    def path(self, of: str | None) -> str:
        """Its folder."""
        return f"{self.stage}.zarr/{self.inside(of)}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an atlas, a Parquet file; `{of}` in its path stands for the name of a result."""

    name: str
    stage: str
    where: str
    note: str

    def path(self, of: str | None) -> str:
        """Its file."""
        return self.where.format(of=of)


MAP = ("example", "layer", "head")

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
    Array("features", "features", (*MAP, "feature"), "float16", "each map as a vector; NaN: no such head"),
    Array("labels", "cluster", MAP, "int32", "cluster of each map; -1 noise, -2 no such head"),
    Array("distance", "cluster", MAP, "float32", "distance of each map to the centre of its cluster; NaN: noise"),
    Array("position", "project", (*MAP, "axis"), "float32", "each map as a point of the plane"),
    Array("trust", "project", MAP, "float32", "trustworthiness of each point: 1 its neighbours are real; NaN unknown"),
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
    Table("quality", "cluster", "cluster/{of}/quality.parquet", "one row a measure: how good a clustering is"),
    Table("choices", "cluster", "cluster/{of}/choices.parquet", "what `auto` tried, and how it went"),
    Table("sweep", "cluster", "cluster/sweep.parquet", "methods and numbers of clusters compared, a row each"),
    Table("clusters", "correlate", "correlate/{of}/clusters.parquet", "one row a cluster: name, evidence, size, home"),
    Table("evidence", "correlate", "correlate/{of}/evidence.parquet", "one row a cluster and statistic: effect size"),
    Table("cells", "correlate", "correlate/{of}/cells.parquet", "one row a cluster and head, layer or column value"),
    Table("associations", "correlate", "correlate/{of}/associations.parquet", "clusters against head, layer, columns"),
    Table("exemplars", "correlate", "correlate/{of}/exemplars.parquet", "maps nearest to a centre, and most unlike it"),
    Table("profiles", "correlate", "correlate/{of}/profiles.parquet", "one row a head: its clusters, one job or many"),
    Table("related", "correlate", "correlate/{of}/related.parquet", "the most similar heads of each head"),
    Table(
        "locality", "correlate", "correlate/{of}/locality.parquet", "are heads of one layer, or adjacent ones, alike"
    ),
)


def array(name: str) -> Array:
    """The array of this name."""
    return next(one for one in ARRAYS if one.name == name)


def table(name: str) -> Table:
    """The table of this name."""
    return next(one for one in TABLES if one.name == name)


def receipt_name(number: int) -> str:
    """The name of a block's receipt."""
    return f"block-{number:06d}"
