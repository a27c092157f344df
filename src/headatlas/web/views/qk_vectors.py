"""What the stored queries and keys of a head say, without the model: honesty, neighbors, strongest keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.products import attention
from headatlas.stages.qk.correlation import Pairs
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.transform import scaled, translated
from headatlas.stages.qk.vectors import read_layer
from headatlas.web.api import arrays
from headatlas.web.api.encoding import UNKNOWN
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.qk import Honesty, NearPoint, NearPoints
from headatlas.web.views import qk, qk_groupings
from headatlas.web.views.example_vectors import scaling_of
from headatlas.web.views.snapshot import Snapshot

STEPS = 48  # of distance and of product
NEAREST = 50
STRONGEST = 5  # keys of a query

Floats = NDArray[np.float32]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class HeadVectors:
    """Queries and keys (token, feature) of a head; NaN rows: the token has none."""

    query: Floats
    key: Floats
    scale: float

    @property
    def present(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The tokens that have a query, and those that have a key."""
        query, key = (np.asarray(np.isfinite(vectors).all(1)) for vectors in (self.query, self.key))
        return query, key

    @property
    def drawn(self) -> NDArray[np.int64]:
        """The points that are drawn."""
        return np.flatnonzero(np.concatenate(self.present))

    def moved(self) -> tuple[Floats, Reals]:
        """Queries, and keys after translation, of the tokens that have them."""
        query, key = (vectors[rows] for vectors, rows in zip((self.query, self.key), self.present, strict=True))
        return query, translated(query, key)[0]

    def joint(self) -> Floats:
        """The vectors of all points that are drawn, as they were projected."""
        return np.concatenate(scaled(*self.moved(), self.scale)).astype(np.float32)


def head_vectors(snapshot: Snapshot, embedding: str, layer: int, head: int) -> HeadVectors:
    """The vectors of a head. Those of a layer are read together, and the latest layer is kept."""
    options = qk.entry(snapshot, embedding)["recipe"]["options"]
    snapshot.check_map(0, layer, head)
    points = snapshot.cached(
        ("qk rows", embedding), lambda: choose_points(snapshot.atlas, options["tokens"], options["seed"])
    )
    facts = snapshot.atlas.header["model"]["layers"][layer]
    _, (query, key) = snapshot.block_of(
        f"qk vectors {embedding}", layer, 1, lambda start, stop: read_layer(snapshot.atlas, points.row, facts)
    )
    scales = snapshot.cached(("qk scales", embedding), lambda: _scales(snapshot, embedding))
    return HeadVectors(query[:, head], key[:, head], scales[layer, head])


def _scales(snapshot: Snapshot, embedding: str) -> dict[tuple[int, int], float]:
    rows = snapshot.atlas.table("qk_heads", embedding, columns=["layer", "head", "scale"]).to_pylist()
    return {(row["layer"], row["head"]): 1.0 if row["scale"] is None else row["scale"] for row in rows}


def honesty(snapshot: Snapshot, embedding: str, layer: int, head: int) -> Honesty:
    """Distances against products of the pairs that `qk` correlated, and what the points are grouped by."""
    vectors = head_vectors(snapshot, embedding, layer, head)
    query, key = vectors.moved()
    if not len(query) or not len(key):
        return Honesty(
            layer=layer, head=head, pairs=0, steps=STEPS, distance=None, product=None, counts=[], groupings=[]
        )
    seed = qk.entry(snapshot, embedding)["recipe"]["options"]["seed"]
    pairs = Pairs.of(query, key, seed)
    distances, products = np.sqrt(pairs.squared_distances(vectors.scale)), pairs.product
    ends = _ends(distances), _ends(products)
    counts, _, _ = np.histogram2d(distances.ravel(), products.ravel(), bins=STEPS, range=ends)
    return Honesty(
        layer=layer, head=head, pairs=distances.size, steps=STEPS, distance=ends[0], product=ends[1],
        counts=counts.astype(int).ravel().tolist(),
        groupings=qk_groupings.groupings(snapshot, embedding, vectors.joint(), vectors.drawn),
    )  # fmt: skip


def _ends(values: Reals) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low, low + 1)


def neighbors(snapshot: Snapshot, embedding: str, layer: int, head: int, point: int) -> NearPoints:
    """The points nearest to a point in the space that was projected."""
    vectors = head_vectors(snapshot, embedding, layer, head)
    drawn = vectors.drawn
    place = int(np.searchsorted(drawn, point))
    if place == len(drawn) or drawn[place] != point:
        raise RequestError(404, f"Head {layer}.{head} has no point {str(point)[:20]}.")
    joint = vectors.joint()
    distances = np.linalg.norm(joint - joint[place], axis=1)
    distances[place] = np.inf
    nearest = np.argsort(distances, kind="stable")[: min(NEAREST, len(drawn) - 1)]
    return NearPoints(
        layer=layer, head=head, point=point, median=float(np.median(np.delete(distances, place))),
        points=[NearPoint(point=int(drawn[other]), distance=float(distances[other])) for other in nearest],
    )  # fmt: skip


def strongest_keys(snapshot: Snapshot, embedding: str, layer: int, head: int) -> bytes:
    """The strongest keys of every query within its own example: tokens (query, rank), counted from the first of the
    example, then weights (query, rank).
    """
    vectors = head_vectors(snapshot, embedding, layer, head)
    facts = snapshot.atlas.header["model"]["layers"][layer]
    example = qk.points(snapshot, embedding)["example"].to_numpy()
    places = np.full((len(example), STRONGEST), UNKNOWN, arrays.DTYPE)
    weights = np.full(places.shape, np.nan)
    starts = np.flatnonzero(np.diff(example, prepend=-1))
    for first, last in zip(starts, [*starts[1:], len(example)], strict=True):
        query, key = vectors.query[first:last], vectors.key[first:last]
        weight = attention(query, key, scaling_of(facts), facts.get("causal", False))
        order = np.argsort(-weight, axis=1, kind="stable")[:, :STRONGEST]
        strongest = np.take_along_axis(weight, order, 1)
        rank = slice(order.shape[1])
        places[first:last, rank] = np.where(strongest > 0, order, UNKNOWN)
        weights[first:last, rank] = strongest
    return places.tobytes() + arrays.attention(weights).tobytes()
