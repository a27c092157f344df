"""Summaries of an atlas for figures and the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import wording
from headatlas.atlas import schema
from headatlas.atlas.blocks import block_size, read_blocks
from headatlas.atlas.store import Atlas
from headatlas.wording import HeadShare, Place

MEANS = 96 << 20  # bytes of pooled maps that mean maps of clusters are taken over, in whole blocks
PIECES = 1500  # of blocks, at most: reading one takes time, however small it is
ENOUGH = 30  # maps of a cluster to average, if it has as many


@dataclass(frozen=True)
class Cluster:
    """A cluster as figures and the page show it; `layers` is None before correlate, empty where it is spread."""

    number: int
    name: str
    maps: int
    share: float
    stability: float | None
    layers: list[int] | None = None
    heads: list[HeadShare] = field(default_factory=list)


def correlated(atlas: Atlas, of: str | None) -> tuple[str, list[Cluster]]:
    """The clustering to show and its clusters, the largest first and noise last; says what to run if it is missing."""
    of = atlas.needed("correlate", of)
    fields = ("name", "maps", "share", "stability", "layers", "heads")
    clusters = [
        Cluster(row["cluster"], **{name: row[name] for name in fields})
        for row in atlas.table("clusters", of).to_pylist()
    ]
    return of, sorted(clusters, key=lambda cluster: (cluster.number < 0, -cluster.maps, cluster.number))


def names(atlas: Atlas, clustering: str) -> dict[int, str]:
    """Names of the clusters of a clustering; plain numbers until they are correlated."""
    labels = np.unique(atlas.read("labels", of=clustering))
    by_number = {int(number): wording.cluster_name(int(number), None) for number in labels if number >= 0}
    by_number[schema.NOISE] = wording.NOISE
    if clustering in atlas.results("correlate"):
        by_number |= {cluster.number: cluster.name for cluster in correlated(atlas, clustering)[1]}
    return by_number


def sentence(atlas: Atlas, of: str, clusters: list[Cluster]) -> str:
    """A summary of the clusters, as a sentence without its period."""
    largest = next((cluster for cluster in clusters if cluster.number >= 0), None)
    return patterns_sentence(clusters, None if largest is None else counts(atlas, of, [largest.number])[0][0])


def patterns_sentence(clusters: list[Cluster], layers: NDArray[np.int64] | None) -> str:
    """The same for any grouping, from the maps of its largest cluster in each layer; None if all is noise."""
    sizes = [(cluster.number, cluster.maps, cluster.stability) for cluster in clusters]
    largest = next((cluster for cluster in clusters if cluster.number >= 0), None)
    if largest is None or layers is None:
        return wording.clusters_sentence(sizes, "", 0, None)
    return wording.clusters_sentence(sizes, largest.name, largest.share, place(layers))


def place(maps: NDArray[np.int64]) -> Place:
    """Where the maps of a cluster are, from their number in each layer: the fewest layers in a row with half of them.

    >>> place(np.array([5, 0, 60, 55]))["layers"], place(np.array([3, 0, 3, 3, 3, 3]))["layers"]
    ([2], [])
    """
    total, layers = maps.sum(), len(maps)
    sums = np.concatenate([[0], np.cumsum(maps)])
    runs = [(b - a, -int(sums[b] - sums[a]), a) for a in range(layers) for b in range(a + 1, layers + 1)]
    length, inside, first = min(run for run in runs if -2 * run[1] >= total)
    chosen = [] if 5 * length > 2 * layers else list(range(first, first + length))
    return Place(layers=chosen, share=-inside / int(total), present=int(np.count_nonzero(maps)), total=layers)


def by_layer(atlas: Atlas, of: str, clusters: list[int]) -> NDArray[np.float64]:
    """Share of each layer's maps in each cluster, (cluster, layer)."""
    inside, total = counts(atlas, of, clusters)
    shares: NDArray[np.float64] = np.divide(inside, total, out=np.full(inside.shape, np.nan), where=total > 0)
    return shares


def counts(atlas: Atlas, of: str, clusters: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Maps of each cluster in each layer, (cluster, layer), and all maps of each layer, counted block by block."""
    layers = atlas.array("labels", of).shape[1]
    inside, total = np.zeros((len(clusters), layers), np.int64), np.zeros(layers, np.int64)
    for _, labels in read_blocks(atlas, "labels", of):
        total += (labels != schema.MISSING).sum((0, 2))
        inside += np.stack([(labels == number).sum((0, 2)) for number in clusters])
    return inside, total


def cluster_maps(atlas: Atlas, of: str, clusters: list[int]) -> NDArray[np.float64]:
    """Mean pooled map of each cluster (cluster, r, r); NaN where it has no maps; see `group_maps`."""
    group = np.full(max(clusters, default=0) - schema.MISSING + 2, -1)  # the last entry is for all other clusters
    group[np.array(clusters, np.int64) - schema.MISSING] = np.arange(len(clusters))
    return group_maps(atlas, "labels", of, group, len(clusters))


def group_maps(atlas: Atlas, name: str, of: str, group: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Mean pooled map (group, r, r) of maps in `count` groups; NaN where a group has no maps.

    A map with the value v in the array `name` is in the group `group[v − MISSING]`, or the last one given; −1 is none.
    All maps are averaged if there are not too many; else those of a random sample of blocks of examples, and a few
    more for small groups.
    """
    array = atlas.array("pooled")
    block = block_size(array)
    blocks, size = -(-array.shape[0] // block), block * int(np.prod(array.shape[1:])) * array.dtype.itemsize
    most = max(1, min(MEANS // size, PIECES // (array.shape[1] * array.shape[2])))
    drawn = range(blocks) if blocks <= most else np.sort(np.random.default_rng(0).permutation(blocks)[:most]).tolist()
    sums, map_counts = np.zeros((count, *array.shape[3:])), np.zeros(count, np.int64)
    for number in drawn:
        rows = slice(number * block, (number + 1) * block)
        groups, maps = _groups(group, atlas.read(name, rows, of)), atlas.read("pooled", rows)
        for place in range(count):
            members = maps[groups == place]
            sums[place] += members.sum(0, dtype=np.float64)
            map_counts[place] += len(members)
    if blocks > most:
        few = [place for place in range(count) if map_counts[place] < ENOUGH]
        others = ((rows, _groups(group, values)) for rows, values in (read_blocks(atlas, name, of) if few else ()))
        for place, more in _more(others, few, map_counts, {*drawn}, block).items():
            sums[place] += pooled(atlas, more).sum(0)
            map_counts[place] += len(more)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = sums / map_counts[:, None, None]
    return means


def _groups(group: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    groups: NDArray[Any] = np.take(group, values - schema.MISSING, mode="clip")
    return groups


def _more(
    groups_of: Iterable[tuple[range, NDArray[Any]]],
    few: list[int],
    map_counts: NDArray[np.int64],
    drawn: set[int],
    block: int,
) -> dict[int, NDArray[np.int64]]:
    """Indices of maps in other blocks, for the groups `few`, which have too few maps in the sample."""
    candidates: dict[int, list[NDArray[np.int64]]] = {place: [] for place in few}
    for rows, groups in groups_of:
        for place in few:
            members = np.argwhere(groups == place) + np.array([rows.start, 0, 0])
            candidates[place].append(members[~np.isin(members[:, 0] // block, [*drawn])])
    joined = {place: np.concatenate(parts) for place, parts in candidates.items()}
    rng = np.random.default_rng(0)
    wanted = {place: rng.permutation(len(members))[: ENOUGH - map_counts[place]] for place, members in joined.items()}
    return {place: members[wanted[place]] for place, members in joined.items() if len(members)}


def pooled(atlas: Atlas, places: NDArray[Any]) -> NDArray[np.float64]:
    """Pooled maps at these indices (example, layer, head); each stored piece is read once."""
    array = atlas.array("pooled")
    block = block_size(array)
    selected = np.empty((len(places), *array.shape[3:]))
    pieces: dict[tuple[int, int, int], list[int]] = {}
    for row, (example, layer, head) in enumerate(places.tolist()):
        pieces.setdefault((example // block, layer, head), []).append(row)
    for (number, layer, head), rows in pieces.items():
        maps = atlas.read("pooled", (slice(number * block, (number + 1) * block), layer, head))
        selected[rows] = maps[places[rows, 0] - number * block]
    return selected


def few_texts(atlas: Atlas, of: str) -> str:
    """That `correlate` had too few independent texts to test anything; empty if it had enough."""
    facts = atlas.facts("correlate", of)
    groups, least = facts["groups"], facts["thresholds"]["groups"]
    return wording.few_texts(groups, least) if groups < least else ""


def knows_heads(atlas: Atlas, of: str) -> bool:
    """Whether the vectors that were clustered come from an encoder that was trained to tell heads apart."""
    features = atlas.source("cluster", of)
    return features is not None and bool(atlas.facts("features", features).get("knows_heads"))
