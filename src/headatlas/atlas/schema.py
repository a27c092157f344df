"""Every stage, array and table of an atlas: its name, its axes, its type, how it is cut, and which stage writes it.

Axes always come in the order `example layer head query key feature`. Sequences are ragged, and no map is stored padded:
the tokens of all examples are concatenated in the table `tokens`, and maps are pooled to one size. The first axis of an
array is cut in *blocks*: a block is computed, written and checked as a whole. Where an array has a row for each
sampled token, each example begins at a new block; the rows between are NaN, and the table `sampled` says which rows
belong to which example.

Stages after `collect` can be run many times on one atlas: features of several encoders, several clusterings. Each such
result has a name and a key, eight hexadecimal digits computed from its recipe, and is stored in a folder `NAME/KEY`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

FORMAT = 2

MISSING = -2  # label of a map that does not exist: its layer has fewer heads
NOISE = -1  # label of a map that belongs to no cluster
BOOKKEEPING = ("example", "id", "text", "pair", "image", "window", "windows", "offset", "cut")  # ours, in `examples`
LENGTHS = ("n_tokens", "n_target")  # ours too, but worth showing
TABLE_ROWS = 128  # examples in a row group of `examples` and `tokens`; blocks of examples divide it

COLLECT = "collect"  # the stage that creates an atlas: its one result has no separate folder
MAP = ("example", "layer", "head")
POINT = ("layer", "head", "point")


@dataclass(frozen=True, slots=True)
class Array:
    """An array of an atlas, at `STAGE.zarr/FOLDER/NAME`."""

    name: str
    axes: tuple[str, ...]
    dtype: str
    note: str
    pieces: tuple[str, ...] = ()  # axes along which a block is cut again, so that one head is read without the others
    compressor: str = "zstd"  # "lz4" where most bits are noise: a fourth of the time for one in a hundred bytes more
    flat: bool = False  # all blocks are files in one folder: folders for many small blocks take longer than the files
    stage: str = ""

    def inside(self, folder: str) -> str:
        """Its path in the Zarr group of its stage."""
        return f"{folder}/{self.name}" if folder else self.name

    def path(self, folder: str) -> str:
        """Its path in the atlas; `folder` is that of the result it belongs to."""
        return f"{self.stage}.zarr/{self.inside(folder)}"

    @property
    def fill_value(self) -> Any:
        """The value of what was never written."""
        return float("nan") if self.dtype.startswith("float") else MISSING


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an atlas: a Parquet file at `STAGE/FOLDER/NAME.parquet`, or at the top."""

    name: str
    note: str
    top: bool = False  # at the top of the atlas: a table that most users read first
    stage: str = ""
    result: str = ""  # the one result of its stage that has it; empty if any may

    def path(self, folder: str) -> str:
        """Its path in the atlas; `folder` is that of the result it belongs to."""
        if self.top:
            return f"{self.name}.parquet"
        return "/".join(part for part in (self.stage, folder, f"{self.name}.parquet") if part)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: what it needs, what it writes, and the command that runs it."""

    name: str
    purpose: str
    inputs: tuple[str, ...] = ()  # stages whose results it reads, besides `collect`
    arrays: tuple[Array, ...] = ()
    tables: tuple[Table, ...] = ()
    arguments: str = "{atlas}"
    command: str = ""  # that of the command line; the name of the stage if empty
    page: str = ""  # of the documentation; the name of the stage if empty
    listed: bool = True  # whether `info` shows it where it is missing


def _declare(*stages: Stage) -> dict[str, Stage]:
    """The stages by name; each array and table knows its stage."""
    declared = {}
    for stage in stages:
        arrays = tuple(replace(array, stage=stage.name) for array in stage.arrays)
        tables = tuple(replace(table, stage=stage.name) for table in stage.tables)
        declared[stage.name] = replace(stage, arrays=arrays, tables=tables)
    return declared


STAGES = _declare(
    Stage(
        COLLECT,
        "What does every head do on every example?",
        arguments="MODEL DATA -o {atlas}",
        arrays=(
            Array(
                "pooled",
                (*MAP, "query", "key"),
                "float16",
                "each map pooled to one size, mass preserved: every row sums to 1",
                pieces=("layer", "head"),
                compressor="lz4",
            ),
            Array(
                "pooled_mean",
                ("block", "layer", "head", "query", "key"),
                "float32",
                "mean of `pooled` over the examples of a block",
                compressor="lz4",
            ),
            Array("stats", (*MAP, "stat"), "float32", "statistics of each map; NaN: undefined", compressor="lz4"),
            Array(
                "query",
                ("row", "layer", "head", "feature"),
                "float16",
                "queries of the sampled tokens, after rotary embedding",
                pieces=("layer",),
                compressor="lz4",
                flat=True,
            ),
            Array(
                "key",
                ("row", "layer", "key_head", "feature"),
                "float16",
                "keys of the sampled tokens, after rotary embedding",
                pieces=("layer",),
                compressor="lz4",
                flat=True,
            ),
            Array(
                "value_norm",
                ("row", "layer", "key_head"),
                "float32",
                "norms of the sampled tokens' values",
                compressor="lz4",
                flat=True,
            ),
        ),
        tables=(
            Table("examples", "one row per example (or window of a long one) with the dataset's columns", top=True),
            Table("tokens", "one row per token, all examples end to end", top=True),
            Table("layers", "one row per layer: kind, heads, key heads, width, causal or not"),
            Table("heads", "one row per head: mean of each statistic over all examples"),
            Table("sampled", "examples whose queries and keys are stored, and where"),
        ),
    ),
    Stage(
        "evaluate",
        "How well does the model answer questions, and which ones?",
        arguments="MODEL DATA --collect {atlas}",
        listed=False,
        tables=(
            Table("predictions", "one row per question: prediction, confidence, right or wrong, n-best answers"),
            Table("scores", "one row per number of the official SQuAD script, with an interval"),
            Table("answer_spans", "one row per example: its question, and the tokens of the gold answer in it"),
        ),
    ),
    Stage(
        "features",
        "How does a map become a vector?",
        arrays=(Array("features", (*MAP, "feature"), "float16", "each map as a vector; NaN: no such head"),),
    ),
    Stage(
        "cluster",
        "Which maps look alike, and how sure is that?",
        inputs=("features",),
        arrays=(
            Array("labels", MAP, "int32", "cluster of each map; -1 noise, -2 no such head"),
            Array("distance", MAP, "float32", "distance of each map to the center of its cluster; NaN: noise"),
            Array("leaves", MAP, "int32", "mini-cluster of each map, a leaf of the tree; -2 no such head"),
        ),
        tables=(
            Table("quality", "one row per measure: how good a clustering is"),
            Table("choices", "what `auto` tried, and how it went"),
            Table("nodes", "one row per node of a tree of clusters: parent, size, stability"),
        ),
    ),
    Stage(
        "sweep",
        "Which method and how many clusters fit best?",
        inputs=("features",),
        tables=(Table("sweep", "one row per method and parameter"),),
        command="cluster",
        arguments="{atlas} --sweep",
        page="cluster",
        listed=False,
    ),
    Stage(
        "project",
        "How do all maps lie in the plane, and which points can be trusted?",
        inputs=("features",),
        arrays=(
            Array("position", (*MAP, "axis"), "float32", "each map as a point of the plane"),
            Array("trust", MAP, "float32", "trustworthiness of each point: 1 its neighbors are real; NaN unknown"),
        ),
    ),
    Stage(
        "correlate",
        "Which layers, heads, examples and columns does a cluster belong to, and what is it?",
        inputs=("cluster", "evaluate"),
        arrays=(
            Array(
                "unlike",
                MAP,
                "float32",
                "distance of each map's vector from the mean of its head; above 1: among the farthest 5%",
            ),
        ),
        tables=(
            Table("clusters", "one row per cluster: name, evidence, size, home"),
            Table("evidence", "one row per cluster and statistic: effect size"),
            Table("cells", "one row per cluster and head, layer or column value"),
            Table("associations", "clusters against head, layer, columns"),
            Table("exemplars", "maps nearest to a center, and least like it"),
            Table("profiles", "one row per head: its clusters, one job or many"),
            Table("related", "the heads with the nearest vectors of each head"),
            Table("locality", "whether heads of one layer, or of adjacent ones, are alike"),
            Table("node_names", "one row per node of a tree that is a cluster at some level: name and reasons"),
            Table("changes", "one row per head and column: how much of the head's variation it explains"),
            Table("span_changes", "one row per head, two kinds of spans and column: how their attention changes"),
            Table("switches", "one row per head, column and value for which it switches to another pattern"),
            Table("values", "one row per example: its value of each column, numbers as the bin they are in"),
            Table("text", "one row per head: how much its maps vary from text to text"),
        ),
    ),
    Stage(
        "null",
        "Which patterns are there without what was learned, or without word order?",
        inputs=("cluster",),
        tables=(
            Table("null_shares", "one row per null model and cluster: its share, and that of the model itself"),
            Table("null_heads", "one row per null model, or the model itself, and head: its clusters, one job or many"),
            Table("null_leaves", "one row per null model and leaf of a tree: its maps, and those of the model itself"),
            Table("null_locality", "the table `locality` for null models, and the model itself on the same examples"),
        ),
    ),
    Stage(
        "tsne",
        "How does one head see a text?",
        tables=(
            Table("layouts", "one row per layer, head and point; head -1: standard t-SNE of the hidden states"),
            Table("layout_heads", "one row per layer and head: KL of every restart, notes"),
            Table("layout_runs", "one row per example, layer, head and run: KL"),
        ),
        arguments="heads {atlas} 0",
    ),
    Stage(
        "qk",
        "Why does a head attend as it does?",
        arrays=(
            Array(
                "qk_position",
                (*POINT, "axis"),
                "float32",
                "where each point is drawn: the queries of all tokens, then their keys; NaN: no such point",
                pieces=("head",),
            ),
            Array(
                "qk_trust",
                POINT,
                "float32",
                "trustworthiness of each point: 1 its neighbors are real",
                pieces=("head",),
            ),
            Array(
                "qk_kept",
                POINT,
                "float32",
                "share of the true neighbors of each point that are its neighbors on the plot",
                pieces=("head",),
            ),
            Array(
                "qk_norm",
                POINT,
                "float32",
                "norm of each vector before translation and scaling",
                pieces=("head",),
            ),
            Array(
                "qk_shape",
                ("layer", "head", "pair"),
                "float16",
                "ranks of the distances among some points, the same tokens in every head of a layer",
            ),
        ),
        tables=(
            Table("qk_points", "one row per token whose query and key are drawn, with the columns to color it by"),
            Table("qk_heads", "one row per head: scale, how far distance mirrors attention, trust of its plot"),
            Table("qk_map", "one row per head and kind of map: where the head lies among all heads"),
            Table("qk_related", "the heads nearest to each head, by kind of map"),
        ),
    ),
    Stage(
        "probe",
        "What does a head look at, and what does it write?",
        command="probe all",
        listed=False,
        tables=(
            Table("probe_detect", "one row per head and detector of a role: score, chance, p, q", result="detect"),
            Table("probe_compose", "the pairs of heads that connect most, by kind of composition", result="compose"),
            Table("probe_classifiers", "one row per probe of dependency trees and baseline", result="classifiers"),
            Table("probe_classifier_heads", "weights of every head in the probe of attention", result="classifiers"),
            Table("probe_coref", "one row per kind of mention: its best head, and rules", result="coref"),
            Table("probe_coref_heads", "one row per kind of mention and head: share found", result="coref"),
            Table("probe_gradients", "one row per head and measure: gradients by attention", result="gradients"),
            Table("probe_parking", "one row per head, role and what it rests on without a key", result="parking"),
            Table("probe_tokens", "tokens that each head promotes and suppresses", result="tokens"),
            Table("probe_token_pairs", "tokens that the strongest pairs of each head promote", result="tokens"),
            Table("probe_distances", "one row per pair of heads: Jensen–Shannon divergence", result="distances"),
            Table("probe_distance_map", "heads as points of the plane, and their order in a tree", result="distances"),
            Table("probe_distance_tree", "merges of the tree of heads", result="distances"),
            Table("probe_pairs", "the pairs of tokens between which every head moves most", result="writes"),
            Table("probe_writes", "how much every head writes, and from where", result="writes"),
            Table("probe_randomness", "how much every head depends on its input", result="randomness"),
            Table("probe_relations", "one row per relation of a treebank: its best head and offset", result="syntax"),
            Table("probe_syntax", "one row per relation, head and direction: share of words found", result="syntax"),
            Table("probe_syntax_cases", "words where the best head of a relation is right, and wrong", result="syntax"),
            Table("probe_surface", "attention of every head to positions, separators and the like", result="surface"),
            Table("probe_spectrum", "effective rank, spectral gap and stationary distribution", result="spectrum"),
        ),
    ),
    Stage(
        "compare",
        "What do two models, or the checkpoints of a series, do differently on the same data?",
        inputs=("cluster", "features"),
        arguments="{atlas} OTHER.atlas",
        listed=False,
        arrays=(
            Array(
                "compare_mean",
                ("model", "layer", "head", "query", "key"),
                "float16",
                "mean pooled map of each head of each model, at its own place; NaN: no such head",
            ),
            Array(
                "compare_pooled",
                ("place", "model", "layer", "head", "query", "key"),
                "float16",
                "pooled maps of the sampled examples, of every model; NaN: no such head",
                pieces=("layer",),
            ),
        ),
        tables=(
            Table("compare_models", "one row per model: 0 the first, then steps, then other seeds (role noise)"),
            Table("compare_heads", "one row per step and head: how far its maps moved, and whether seeds move as far"),
            Table("compare_stats", "one row per step, head and statistic: before, after, and their paired difference"),
            Table("compare_layers", "one row per step and layer: mean shift of its heads, and how many changed"),
            Table("compare_patterns", "one row per step and cluster: its share of the maps before and after"),
            Table(
                "compare_series", "one row per head: what it does at the end, and from which step on; lists by model"
            ),
            Table("compare_matches", "one row per step and head, where heads are matched by what they do"),
            Table("compare_examples", "one row per sampled example: its tokens, and its shift at every step"),
        ),
    ),
)

ARRAYS = {array.name: array for stage in STAGES.values() for array in stage.arrays}
TABLES = {table.name: table for stage in STAGES.values() for table in stage.tables}


def command(stage: str, atlas: str) -> str:
    """The command that runs a stage.

    >>> command("features", "x.atlas")
    'headatlas features x.atlas'
    """
    declared = STAGES[stage]
    return f"headatlas {declared.command or stage} {declared.arguments.format(atlas=atlas)}"
