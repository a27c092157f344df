"""What figures need from an atlas, in the form they need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import results, schema
from headatlas.progress import many, percent
from headatlas.store import Atlas

MEAN_OF = 500  # maps of a cluster that its mean map is taken over


@dataclass(frozen=True)
class Cluster:
    """A row of the table `clusters`."""

    number: int
    name: str
    maps: int
    share: float
    stability: float | None
    layers: str
    heads: str


def correlated(atlas: Atlas, of: str | None) -> tuple[str, list[Cluster]]:
    """The clustering to show and its clusters, the largest first and noise last; says what to run if it is missing."""
    of = results.needed(atlas, "correlate", of)
    rows = atlas.table("clusters", of).to_pylist()
    found = [
        Cluster(
            row["cluster"], row["name"], row["maps"], row["share"], row.get("stability"),
            row.get("layers") or "", row.get("heads") or "",
        )
        for row in rows
    ]  # fmt: skip
    return of, sorted(found, key=lambda one: (one.number < 0, -one.maps, one.number))


def names(atlas: Atlas, clustering: str) -> dict[int, str]:
    """Names of the clusters of a clustering; plain numbers until they are correlated."""
    labels = np.unique(atlas.read("labels", of=clustering))
    found = {int(number): f"cluster {number}" for number in labels if number >= 0} | {schema.NOISE: "noise"}
    if clustering in atlas.results("correlate"):
        found |= {one.number: one.name for one in correlated(atlas, clustering)[1]}
    return found


def sentence(atlas: Atlas, of: str, clusters: list[Cluster]) -> str:
    """What the clusters say, in a sentence."""
    maps = sum(one.maps for one in clusters)
    real = [one for one in clusters if one.number >= 0]
    if not real:
        return f"All {maps:,} maps are noise: no pattern was found"
    first, inside = real[0], sum(one.maps for one in real)
    where = place(counts(atlas, of, [first.number])[0][0])
    some = f"; the largest, {percent(first.share)} of all, is “{first.name}”, {where}"
    patterns = f"{len(real)} patterns" if len(real) > 1 else "one pattern"
    return f"{f'{inside:,} of ' if inside < maps else ''}{maps:,} maps fall into {patterns}{some}"


def place(own: NDArray[np.int64]) -> str:
    """Where the maps of a cluster are, from their number in each layer: the fewest layers in a row with half of them.

    >>> place(np.array([5, 0, 60, 55])), place(np.array([3, 0, 3, 3, 3, 3]))
    ('50 % of it in layer 2', 'spread over 5 of 6 layers')
    """
    total, layers = own.sum(), len(own)
    sums = np.concatenate([[0], np.cumsum(own)])
    runs = [(b - a, -int(sums[b] - sums[a]), a) for a in range(layers) for b in range(a + 1, layers + 1)]
    length, inside, first = min(run for run in runs if -2 * run[1] >= total)
    if 5 * length > 2 * layers:
        there = np.count_nonzero(own)
        return f"spread over {'all' if there == layers else f'{there} of'} {many(layers, 'layer')}"
    last = first + length - 1
    return f"{percent(-inside / total)} of it in {plural('layer', f'{first}–{last}' if last > first else str(first))}"


def plural(word: str, numbers: str) -> str:
    """One layer, or several.

    >>> plural("layer", "3–5"), plural("layer", "4")
    ('layers 3–5', 'layer 4')
    """
    return f"{word}{'s' * (not numbers.isdigit())} {numbers}"


def by_layer(atlas: Atlas, of: str, clusters: list[int]) -> NDArray[np.float64]:
    """Share of each layer's maps in each cluster, (cluster, layer)."""
    own, total = counts(atlas, of, clusters)
    shares: NDArray[np.float64] = np.divide(own, total, out=np.full(own.shape, np.nan), where=total > 0)
    return shares


def counts(atlas: Atlas, of: str, clusters: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Maps of each cluster in each layer, (cluster, layer), and all maps of each layer, counted block by block."""
    array = atlas.array("labels", of)
    block = (array.shards or array.chunks)[0]
    own = np.zeros((len(clusters), array.shape[1]), np.int64)
    total = np.zeros(array.shape[1], np.int64)
    for start in range(0, array.shape[0], block):
        labels = atlas.read("labels", slice(start, start + block), of=of)
        total += (labels != schema.MISSING).sum((0, 2))
        own += np.stack([(labels == number).sum((0, 2)) for number in clusters])
    return own, total


def mean_map(atlas: Atlas, labels: NDArray[np.int32], number: int) -> NDArray[np.float64]:
    """Mean pooled map of a cluster, over a seeded sample of at most 500 of its maps."""
    places = np.argwhere(labels == number)
    if len(places) > MEAN_OF:
        places = places[np.random.default_rng(number + 1).permutation(len(places))[:MEAN_OF]]
    return np.asarray(pooled(atlas, places).mean(0), np.float64)


def pooled(atlas: Atlas, places: NDArray[Any]) -> NDArray[np.float64]:
    """Pooled maps at these places (example, layer, head); each stored piece is read once."""
    array = atlas.array("pooled")
    block = (array.shards or array.chunks)[0]
    found = np.empty((len(places), *array.shape[3:]))
    pieces: dict[tuple[int, int, int], list[int]] = {}
    for row, (example, layer, head) in enumerate(places.tolist()):
        pieces.setdefault((example // block, layer, head), []).append(row)
    for (number, layer, head), rows in pieces.items():
        maps = atlas.read("pooled", (slice(number * block, (number + 1) * block), layer, head))
        found[rows] = maps[places[rows, 0] - number * block]
    return found
