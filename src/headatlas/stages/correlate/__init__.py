"""Correlate clusters with layers, heads, examples and columns: where each occurs, how sure that is, what to call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import progress
from headatlas.atlas import engine, schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.evaluated_columns import evaluated_columns
from headatlas.atlas.groups import Groups, group_column, read_groups
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.stages.correlate import home, tables
from headatlas.stages.correlate.contrasts import Statistics, compared
from headatlas.stages.correlate.counts import Coded, read
from headatlas.stages.correlate.dataset_columns import Column, column_values, read_columns, same_columns
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.factors import Factor, head_tables, tests
from headatlas.stages.correlate.input_changes import input_changes
from headatlas.stages.correlate.locality import locality
from headatlas.stages.correlate.names import Name
from headatlas.stages.correlate.node_names import cluster_names, name_outline, rows_of
from headatlas.stages.correlate.outline import read_outline
from headatlas.stages.correlate.summary import summary
from headatlas.stages.correlate.unlike import Usual, write_unlike
from headatlas.wording.thresholds import ANALYSIS, GROUPS

__all__ = ["clusters", "summary"]


def __dir__() -> list[str]:
    return sorted(__all__)


DRAWS = 200  # of the bootstrap over examples


def clusters(
    atlas: AtlasLike,
    *,
    of: str | None = None,
    columns: Sequence[str] | None = None,
    group: str | None = None,
    permutations: int = 999,
    seed: int = 0,
    exemplars: int = 8,
) -> pa.Table:
    """Describe a clustering, and what the input changes in each head, and return the table `clusters`.

    Writes the tables clusters, evidence, cells, associations, exemplars, profiles, related, locality, changes,
    switches, values and text, for a clustering by method `tree` also node_names, for data with spans also
    span_changes; and the array unlike.

    >>> import headatlas as ha
    >>> texts = ["The cat sat.", "It slept, then it ate.", "Who ate? It did.", "A cat, a cat."]
    >>> atlas = ha.collect.maps("packaged", texts, "memory://input.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> labels = ha.cluster.kmeans(atlas, k=3)
    >>> table = ha.correlate.clusters(atlas, columns=["question"], permutations=9)
    >>> table.num_rows, atlas.table("changes").num_rows  # three clusters; 72 heads and one column
    (3, 72)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a clustering.
    of : str, optional
        Name of the clustering; the latest if not given.
    columns : sequence of str, optional
        Columns to compare; by default all with 2 to 50 values, and numbers: those of the dataset, then those computed
        from its texts.
    group : str, optional
        Column of the table `examples` whose equal values have one source and are shuffled and drawn together, like the
        windows of one text; by default the column that the reader declares, if any. `id` undoes that.
    permutations : int
        Number of shuffles per test; they respect the design.
    seed : int
        Random seed of shuffles, samples and bootstrap.
    exemplars : int
        Maps of each cluster that are listed as typical, and as many as most unlike it.

    Returns
    -------
    clusters : pyarrow.Table
        One row per cluster.
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("cluster", of)
    if permutations < 1 or exemplars < 0 or seed < 0:
        raise OptionError("at least 1 permutation is needed, and neither exemplars nor the seed can be negative")
    group = group_column(atlas, group)
    chosen = read_columns(atlas, columns)
    options: dict[str, Any] = {"columns": list(columns) if columns is not None else None}
    options |= {"permutations": permutations, "seed": seed, "exemplars": exemplars, "group": group}
    inputs = {"cluster": of} | _evaluation(atlas, chosen)
    with engine.result(atlas, "correlate", of, options, inputs=inputs) as result:
        if not result.finished:
            groups = read_groups(atlas, group)
            maps = read(atlas, of, groups.number)
            new_tables, facts, usual = _describe(atlas, of, maps, chosen, groups, permutations, seed, exemplars)
            files = [result.write_table(name, table) for name, table in new_tables.items()]
            if usual is not None:
                files += write_unlike(result, facts["features"], maps, usual)
            result.finish(facts, files)
    return atlas.table("clusters", of)


def _evaluation(atlas: Atlas, columns: list[Column]) -> dict[str, str]:
    """The evaluation whose columns are compared, if any: a result that replaces it makes this one out of date."""
    added = {column.name for column in evaluated_columns(atlas)}
    used = any(column.name in added for column in columns)
    return {"evaluate": atlas.needed("evaluate")} if used else {}


def _describe(
    atlas: Atlas,
    of: str,
    maps: Coded,
    columns: list[Column],
    groups: Groups,
    permutations: int,
    seed: int,
    exemplars: int,
) -> tuple[dict[str, pa.Table], dict[str, Any], Usual | None]:
    """The tables of a clustering, the facts recorded with it, and what each head usually does."""
    facts = atlas.facts("cluster", of)
    level = facts.get("level", "maps")
    enough = groups.count >= GROUPS
    draws = Draws(groups.count, DRAWS if enough and level == "maps" else 0, seed)
    rounds = 0 if not enough else 1 if level == "heads" else 2 + len(columns)
    with progress.bar("correlate", rounds * permutations, "shuffles") as step:
        factors = tests(maps, columns, level=level, permutations=permutations, seed=seed, draws=draws, step=step)
    changed = input_changes(atlas, of, maps, columns, permutations=permutations, seed=seed, draws=DRAWS)
    outline = read_outline(atlas, of, maps, home.by_size(maps))
    statistics = compared(atlas, maps, outline, seed, DRAWS)
    nodes = name_outline(atlas, maps, outline, statistics)
    named = cluster_names(outline, nodes)
    localities = locality(maps.heads(), maps.layer, permutations if enough else 0, seed, head_tables(maps, draws))
    stability = {int(entry["cluster"]): entry.get("stability") for entry in facts.get("clusters", [])}
    new_tables = {
        "clusters": home.clusters(maps, named, factors, stability),
        "evidence": tables.evidence(maps, statistics),
        "cells": tables.cells(maps, factors),
        "associations": tables.associations(factors, changed.shares),
        "exemplars": tables.examples_of(maps, _distance(atlas, maps, of), exemplars),
        "profiles": tables.profiles(maps, named),
        "related": tables.related_heads(maps, changed.distances),
        "locality": tables.neighbors(localities),
        "changes": changed.changes,
        "switches": changed.switches,
        "values": column_values(columns, len(maps.codes)),
        "text": changed.text,
    }
    if atlas.has_table("nodes", of):
        new_tables["node_names"] = tables.node_names(rows_of(outline, nodes))
    if changed.spans is not None:
        new_tables["span_changes"] = changed.spans
    grouping = {"group": groups.column, "groups": groups.count}
    labels = {column.name: column.label for column in columns if column.label}
    about = grouping | changed.facts | {"labels": labels, "same_columns": same_columns(columns)}
    return new_tables, _facts(maps, named, factors, level, statistics) | about, changed.usual


def _distance(atlas: Atlas, maps: Coded, of: str) -> Any:
    """Distances (example, slot), block by block."""
    distances = np.empty(maps.codes.shape, np.float32)
    for rows, part in read_blocks(atlas, "distance", of):
        distances[rows.start : rows.stop] = part[:, maps.layer, maps.head]
    return distances


def _facts(
    maps: Coded, named: dict[int, Name], factors: list[Factor], level: str, statistics: Statistics
) -> dict[str, Any]:
    clusters = [int(cluster) for cluster in maps.clusters if cluster != schema.NOISE]
    return {
        "level": level,
        "names": [{"cluster": cluster, "name": tables.cluster_text(cluster, named[cluster])} for cluster in clusters],
        "columns": [factor.name for factor in factors if factor.name not in ("head", "layer", "example")],
        "draws": DRAWS,
        "statistics_examples": statistics.examples,
        "thresholds": ANALYSIS,
    }
