"""From options to finished references in the atlas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import progress, wording
from headatlas.atlas import engine, parts
from headatlas.atlas.groups import group_column, read_groups
from headatlas.atlas.model import load_model
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import ModelError, OptionError
from headatlas.models.load import ModelLike
from headatlas.models.model import Model
from headatlas.models.random_weights import refusal
from headatlas.null import tables
from headatlas.null.block import OTHER_WEIGHTS, NullBlock, NullModels, Source, Task
from headatlas.options import either
from headatlas.stages.cluster.membership import read_clusters
from headatlas.stages.cluster.radius import SHARE
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.features.encoders import Encoder
from headatlas.stages.features.fitted import load_encoder
from headatlas.wording.nulls import NULLS, REAL

BLOCK = 8  # examples in a task
DRAWS = 200  # of the bootstrap over examples
PERMUTATIONS = 999  # behind the p of locality

Skipped = dict[str, str]  # kinds that are left out, and why


def references(
    atlas: AtlasLike,
    *,
    of: str | None = None,
    kinds: Sequence[str] = tuple(NULLS),
    examples: int = 64,
    seed: int = 0,
    model: ModelLike | None = None,
    encoder: str | os.PathLike[str] | Encoder | None = None,
) -> pa.Table:
    """Count the patterns of a clustering in maps of null models, and return the table `null_shares`.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=4), "memory://null.atlas")
    >>> vectors, labels = ha.features.image(atlas, "stats"), ha.cluster.kmeans(atlas, k=5)
    >>> table = ha.null.references(atlas, kinds=["shuffled"])
    >>> table.num_rows, round(sum(table["share"].to_pylist()), 6)  # five clusters, and none of them
    (6, 1.0)

    The maps are collected and encoded like those of the atlas, and get the cluster of the nearest center; none where
    this is farther than 95 % of the cluster's own maps. After a stop, the same call continues.

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a clustering of maps. Its model is loaded.
    of : str, optional
        The clustering; the latest if not given.
    kinds : sequence of {"untrained", "permuted", "shuffled"}
        The model with random weights, with the entries of each weight matrix shuffled, and on texts whose tokens are
        shuffled. What is not possible, such as shuffling patches of images, is left out with a message.
    examples : int
        Number of examples, drawn with `seed`; all if there are no more. A larger sample includes a smaller one.
    seed : int
        Random seed of examples, weights and shuffling.
    model : Model or str, optional
        The model of the atlas, where it cannot be loaded by the name recorded in the atlas.
    encoder : str, path or Encoder, optional
        The encoder of the features, if it is a trained file, a vision model or an object.

    Returns
    -------
    pyarrow.Table
        The table `null_shares`. The tables `null_heads` and `null_locality` are written, too, and for a clustering by
        method `tree` also `null_leaves`.
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("cluster", of)
    _check(kinds, examples, seed)
    options = {"kinds": [kind for kind in NULLS if kind in kinds], "examples": examples, "seed": seed}
    with engine.result(atlas, "null", of, options, inputs={"cluster": of}) as result:
        if not result.finished:
            _run(atlas, result, of, options, model, encoder)
    return atlas.table("null_shares", of)


def _check(kinds: Sequence[str], examples: int, seed: int) -> None:
    unknown = [kind for kind in kinds if kind not in NULLS]
    if unknown or not kinds:
        raise OptionError(f"kind {', '.join(unknown) or 'missing'}: choose {either(tuple(NULLS))}, or several")
    if examples < 1 or seed < 0:
        raise OptionError("at least 1 example is needed, and the seed cannot be negative")


def _run(
    atlas: Atlas, result: engine.Result, of: str, options: dict[str, Any], model: ModelLike | None, encoder: Any
) -> None:
    features = atlas.source("cluster", of) or atlas.needed("features")
    clusters, fitted = read_clusters(atlas, of), load_encoder(atlas, features, encoder)
    loaded = load_model(atlas, model)
    skipped = _skipped(loaded, options["kinds"])
    numbers = chosen_examples(atlas, options["examples"], options["seed"])
    kinds = [REAL, *(kind for kind in options["kinds"] if kind not in skipped)]
    tasks = [Task(kind, numbers[at : at + BLOCK]) for kind in kinds for at in range(0, len(numbers), BLOCK)]
    batch = atlas.results("features")[features]["recipe"]["options"]["batch"]
    source = Source(of, features, clusters, fitted, batch, NullModels(loaded, options["seed"]))
    heads = existing_heads(atlas)
    design = _design(atlas, numbers, clusters.count, heads, options["seed"])
    facts = {
        "kinds": kinds[1:], "skipped": [{"kind": kind, "reason": reason} for kind, reason in skipped.items()],
        "examples": len(numbers), "seed": options["seed"], "radius": SHARE, "draws": design.draws.count,
        "permutations": PERMUTATIONS,
    }  # fmt: skip

    def join(table: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        maps = tables.from_parts(table, kinds)
        new_tables = {
            "null_shares": tables.null_shares(maps, design),
            "null_heads": tables.null_heads(maps, design),
            "null_locality": tables.null_locality(maps, design, PERMUTATIONS, options["seed"]),
        }
        if atlas.has_table("nodes", of):
            new_tables["null_leaves"] = tables.null_leaves(maps, (atlas.table("nodes", of).num_rows + 1) // 2)
        return new_tables, facts

    work = NullBlock(result.place, tasks, source, heads)
    parts.run(result, work, [range(len(task.examples)) for task in tasks], "null models", join, unit="examples")


def _skipped(model: Model, kinds: Sequence[str]) -> Skipped:
    """Kinds that are not possible with this model; it is an error if there is no other."""
    refused = refusal(model)
    reasons = {"shuffled": "image" if model.modality == "image" else None} | dict.fromkeys(OTHER_WEIGHTS, refused)
    skipped = {kind: reason for kind in kinds if (reason := reasons[kind]) is not None}
    lines = [wording.null_skipped(kind, reason) for kind, reason in skipped.items()]
    if len(skipped) == len(kinds):
        raise ModelError(f"{model.name} has no null model: {'; '.join(lines)}")
    for line in lines:
        progress.say(f"{model.name}: {line}")
    return skipped


def chosen_examples(atlas: Atlas, count: int, seed: int) -> list[int]:
    """The numbers of the first examples of a random order, sorted."""
    order = np.random.default_rng(seed).permutation(atlas.collection["counts"]["examples"])
    return sorted(int(number) for number in order[:count])


def _design(atlas: Atlas, numbers: list[int], clusters: int, heads: Any, seed: int) -> tables.Design:
    """Windows of one text, and texts that the reader declares to have one source, are one group of the bootstrap."""
    every_group = read_groups(atlas, group_column(atlas, None)).number
    group = np.unique(every_group[numbers], return_inverse=True)[1]
    groups = int(group.max()) + 1
    draws = Draws(groups, DRAWS if groups > 1 else 0, seed)
    return tables.Design(clusters, heads[:, 0], heads[:, 1], group, draws)
