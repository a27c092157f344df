"""Names of all clusters and, for a tree, of its nodes, from sums over their parts and where their maps are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema, summaries
from headatlas.atlas.store import Atlas
from headatlas.sources import Offset
from headatlas.stages.correlate.contrasts import Statistics
from headatlas.stages.correlate.counts import Coded
from headatlas.stages.correlate.distinctions import name_text, names
from headatlas.stages.correlate.names import WINDOWS, Evidence, Home, Name, Subject
from headatlas.stages.correlate.outline import Outline
from headatlas.stages.correlate.tables import name_columns
from headatlas.statistics import statistic
from headatlas.wording import node_name

Array = NDArray[Any]
ROOM = 4  # times as many tokens as are nearby must a text have for these to give a name
FEW = 3  # with half of the maps in more heads or examples, a cluster is not told from others by these


def name_outline(atlas: Atlas, maps: Coded, outline: Outline, statistics: Statistics) -> dict[int, Name]:
    """A name for each cluster, or each node of a tree; the root of a tree, which is all maps, has none."""
    homes = read_homes(atlas, maps, outline)
    code = {int(cluster): number for number, cluster in enumerate(maps.clusters)}
    evidence = statistics.nodes | {
        node: _with_intervals(statistics.nodes[node], statistics.evidence(code[cluster]))
        for node, cluster in outline.clusters.items()
    }
    subjects = {
        node: Subject(
            telling(evidence[node], homes[node].length), homes[node], outline.levels[node], node in outline.clusters
        )
        for node in outline.parents
    }
    return names(subjects)


def telling(evidence: Sequence[Evidence], length: float) -> list[Evidence]:
    """Without attention to tokens nearby if texts are so short, in tokens, that most tokens are.

    >>> near = [Evidence(name, 0.5, 0.2, 0.6, 0.5, 0.7) for name in ("previous", "offset-4", "just_before", "self")]
    >>> [item.statistic for item in telling(near, length=12)]
    ['previous', 'self']
    """
    return [item for item in evidence if not length < ROOM * _span(item.statistic)]


def _span(name: str) -> int:
    """How many tokens must be there for attention to a place, or window of places, around the query."""
    source = statistic(name).source
    if isinstance(source, Offset) and abs(source.by) <= 1:
        return abs(source.by)
    return min((len(places) for window, places in WINDOWS.items() if name in {window, *places}), default=0)


def _with_intervals(items: Sequence[Evidence], of_cluster: Sequence[Evidence]) -> list[Evidence]:
    return [replace(item, low=known.low, high=known.high) for item, known in zip(items, of_cluster, strict=True)]


def cluster_names(outline: Outline, named: Mapping[int, Name]) -> dict[int, Name]:
    """The name of each cluster; noise has no phrases and no reasons."""
    return {cluster: named[node] for node, cluster in outline.clusters.items()} | {schema.NOISE: Name()}


def read_homes(atlas: Atlas, maps: Coded, outline: Outline) -> dict[int, Home]:
    """Where the maps of each node are."""
    exists = outline.codes >= 0
    slots = outline.codes.shape[1]
    example, slot = np.nonzero(exists)
    part = outline.codes[exists].astype(np.int64)
    counts = outline.members @ np.bincount(part * slots + slot, minlength=outline.parts * slots).reshape(-1, slots)
    lengths = outline.members @ np.bincount(part, _lengths(atlas)[example], outline.parts)
    first = np.full(outline.parts, len(part))
    np.minimum.at(first, part, np.arange(len(part)))
    homes, members = {}, outline.members > 0
    for row, node in enumerate(outline.parents):
        at = int(first[members[row]].min())
        homes[node] = Home(
            heads=_main_heads(counts[row], maps),
            examples=tuple(_fewest(np.bincount(example[members[row, part]]))),
            lead=_head(maps, int(counts[row].argmax())),
            layers=_main_layers(counts[row], maps),
            length=float(lengths[row] / counts[row].sum()),
            first=(int(example[at]), int(maps.layer[slot[at]]), int(maps.head[slot[at]])),
        )
    return homes


def _lengths(atlas: Atlas) -> Array:
    """Tokens of each example."""
    lengths: Array = atlas.table("examples")["n_tokens"].to_numpy().astype(np.float64)
    return lengths


def _main_heads(counts: Array, maps: Coded) -> tuple[tuple[int, int], ...]:
    """The fewest heads with half of the maps."""
    return tuple(_head(maps, slot) for slot in _fewest(counts))


def _fewest(counts: Array) -> list[int]:
    """The fewest places with half of all counts, the largest first; none if that takes too many.

    >>> _fewest(np.array([1, 5, 0, 4])), _fewest(np.ones(9))
    ([1], [])
    """
    order = np.argsort(-counts, kind="stable")
    needed = int(np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)) + 1
    chosen: list[int] = order[: needed if needed <= FEW else 0].tolist()
    return chosen


def _head(maps: Coded, slot: int) -> tuple[int, int]:
    return int(maps.layer[slot]), int(maps.head[slot])


def _main_layers(counts: Array, maps: Coded) -> tuple[int, ...]:
    """The fewest layers in a row with half of the maps; none if that takes too many."""
    by_layer = np.bincount(maps.layer, counts, int(maps.layer.max()) + 1).astype(np.int64)
    return tuple(summaries.place(by_layer)["layers"])


def rows_of(outline: Outline, named: Mapping[int, Name]) -> list[dict[str, Any]]:
    """The rows of the table `node_names`."""
    return [
        {"node": node, "name": node_name(node, outline.clusters.get(node), name_text(name))} | name_columns(name)
        for node, name in sorted(named.items())
    ]
