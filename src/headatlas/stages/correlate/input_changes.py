"""What the input changes, as tables: each head against each column, and how much each head varies at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.store import Atlas
from headatlas.numeric.threads import single_thread
from headatlas.stages.correlate.changes import Change, Share, changes
from headatlas.stages.correlate.contrasts import read_statistics
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.design import Design, design
from headatlas.stages.correlate.differing import Difference, differences
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.explained import Within, variance_shares
from headatlas.stages.correlate.heads import distance_scale, head_distances
from headatlas.stages.correlate.span_changes import planner, span_changes, span_places
from headatlas.stages.correlate.switches import SWITCHES_TABLE, switches
from headatlas.stages.correlate.tables import REAL, TEXT, WHOLE, make_table
from headatlas.stages.correlate.unlike import Usual, flags, usual
from headatlas.stages.correlate.vectors import Vectors, read_vectors
from headatlas.wording.thresholds import EXPLAINED, GROUPS, SIGNIFICANT

Array = NDArray[Any]
Ranks = dict[tuple[int, int], int]  # of slots and columns
MEAN = pa.struct({"value": TEXT, "mean": REAL})
DIFFERENCE = pa.struct({"statistic": TEXT, "spread": REAL, "means": pa.list_(MEAN)})
VALUE = pa.struct({"value": TEXT, "n": WHOLE, "unlike": WHOLE})
CHANGES = (
    {"layer": pa.int32(), "head": pa.int32(), "column": TEXT, "rank": pa.int32()}
    | dict.fromkeys(("eta2", "chance", "explained", "low", "high", "p", "q"), REAL)
    | {"n": WHOLE, "groups": WHOLE, "untested": TEXT, "statistics": pa.list_(DIFFERENCE)}
    | {"values": pa.list_(VALUE)}
)
WITHIN = {"layer": pa.int32(), "head": pa.int32()} | dict.fromkeys(("within", "total", "share", "low", "high"), REAL)


@dataclass(frozen=True)
class InputChanges:
    """The tables `changes`, `text`, `switches` and `span_changes`, distances of heads, what each factor explains, what
    was read, and what each head usually does; None if there are no vectors. `spans` is None if there are no spans.
    """

    changes: pa.Table
    text: pa.Table
    switches: pa.Table
    distances: Array  # (slot, slot) of the heads' vectors
    shares: dict[str, Share] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    usual: Usual | None = None
    spans: pa.Table | None = None


def features_of(atlas: Atlas, of: str) -> str | None:
    """The features that a clustering used; the latest if it does not say, None if there are none."""
    return atlas.source("cluster", of) or atlas.latest("features")


def input_changes(
    atlas: Atlas, of: str, maps: Coded, columns: Sequence[Column], *, permutations: int, seed: int, draws: int
) -> InputChanges:
    """Compare the vectors of every head between the values of each column."""
    features = features_of(atlas, of)
    if features is None:
        none = make_table([], SWITCHES_TABLE)
        return InputChanges(make_table([], CHANGES), make_table([], WITHIN), none, np.empty((0, 0)))
    vectors = read_vectors(atlas, features, maps, seed)
    bootstrap = Draws(vectors.groups, draws if vectors.groups >= GROUPS else 0, seed)
    designs = [
        design(column, vectors.examples, vectors.group, permutations, seed + 100 + number, bootstrap)
        for number, column in enumerate(columns)
    ]
    with progress.bar("what the input changes", len(maps.layer), "heads") as step:
        rows, pooled = changes(vectors, designs, step)
    with single_thread():
        shares, within = variance_shares(vectors, maps.layer, bootstrap)
        statistics = read_statistics(atlas, maps, vectors.examples)
        names = list(atlas.array("stats").attrs["stats"])
        differing = differences(statistics, names, designs)
        distances = head_distances(vectors, seed)
        usually = usual(vectors)
        unlike = flags(vectors, usually)
        between = _between_spans(statistics, names, maps, columns, vectors, (permutations, seed, draws))
    values = [_values(column, plan, unlike) for column, plan in zip(columns, designs, strict=True)]
    changed = _ranks(rows)
    shares |= {column.name: share for column, share in zip(columns, pooled, strict=True)}
    facts = {
        "features": features, "vectors_examples": len(vectors.examples), "vectors_groups": vectors.groups,
        "head_distance": distance_scale(distances),
    }  # fmt: skip
    return InputChanges(
        _changes(maps, columns, rows, changed, differing, values), _text(maps, within),
        switches(maps, columns, changed, _over_all(maps, draws, seed)), distances, shares, facts, usually, between,
    )  # fmt: skip


def _between_spans(
    statistics: Array,
    names: Sequence[str],
    maps: Coded,
    columns: Sequence[Column],
    vectors: Vectors,
    plan: tuple[int, int, int],
) -> pa.Table | None:
    """The table `span_changes`; None if the data have no spans."""
    places = span_places(names)
    if not places:
        return None
    designs = planner(vectors.examples, vectors.group, *plan)
    with progress.bar("attention between spans", len(places) * len(maps.layer), "statistics") as step:
        return span_changes(statistics[places], [names[place] for place in places], maps, columns, designs, step)


def _over_all(maps: Coded, draws: int, seed: int) -> Draws:
    """The bootstrap over all texts: labels are known for each, vectors for a sample."""
    groups = len(np.unique(maps.group))
    return Draws(groups, draws if groups >= GROUPS else 0, seed)


def _ranks(rows: Sequence[Change]) -> Ranks:
    """The heads (slots) and columns that matter, the largest share first."""
    matters = [row for row in rows if row.q < SIGNIFICANT and row.share.explained >= EXPLAINED]
    matters.sort(key=lambda row: (-row.share.explained, row.slot, row.column))
    return {(row.slot, row.column): number for number, row in enumerate(matters)}


def _values(column: Column, plan: Design, unlike: Array) -> list[list[dict[str, Any]]]:
    """For each head and value of a column: how many examples there are, and how many it treats unlike others."""
    member = np.eye(plan.kinds, dtype=np.int64)[plan.codes]  # (row, value)
    counts, total = unlike[:, plan.rows].astype(np.int64) @ member, member.sum(0)
    return [
        [{"value": value, "n": int(total[at]), "unlike": int(of_head[at])} for at, value in enumerate(column.values)]
        for of_head in counts
    ]


def _changes(
    maps: Coded,
    columns: Sequence[Column],
    rows: Sequence[Change],
    rank: Ranks,
    differing: list[list[list[Difference]]],
    values: list[list[list[dict[str, Any]]]],
) -> pa.Table:
    """A row for each head and column; those that change first, the largest share first."""
    ordered = sorted(rows, key=lambda row: (rank.get((row.slot, row.column), len(rows)), row.slot, row.column))
    table = [
        {"layer": maps.layer[row.slot], "head": maps.head[row.slot], "column": columns[row.column].name,
         "rank": rank.get((row.slot, row.column)), "eta2": row.share.eta2, "chance": row.share.chance,
         "explained": row.share.explained, "low": row.share.low, "high": row.share.high,
         "p": row.share.p if row.untested is None else None, "q": row.q, "n": row.n, "groups": row.groups,
         "untested": row.untested,
         "statistics": [_difference(item, columns[row.column]) for item in differing[row.column][row.slot]],
         "values": values[row.column][row.slot]}
        for row in ordered
    ]  # fmt: skip
    return make_table(table, CHANGES)


def _difference(item: Difference, column: Column) -> dict[str, Any]:
    means = [{"value": value, "mean": mean} for value, mean in zip(column.values, item.means, strict=True)]
    return {"statistic": item.statistic, "spread": item.spread, "means": means}


def _text(maps: Coded, within: Within) -> pa.Table:
    """A row for each head."""
    rows = [
        {"layer": maps.layer[slot], "head": maps.head[slot], "within": within.variance[slot], "total": within.total,
         "share": within.share[slot], "low": within.low[slot], "high": within.high[slot]}
        for slot in range(len(maps.layer))
    ]  # fmt: skip
    return make_table(rows, WITHIN)
