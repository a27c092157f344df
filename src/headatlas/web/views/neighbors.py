"""The maps nearest to a map by their vectors, which a projection only approximates: an exact search over all maps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import source_of
from headatlas.web.api.payloads.neighbors import Neighbor, Neighbors
from headatlas.web.views.snapshot import Snapshot

NEAREST = 50
KEPT_BYTES = 1 << 30  # vectors that are kept in memory; more are read again for each search
ROWS = 1 << 14  # vectors compared at a time: as float32 they stay in the cache of the processor

Half = NDArray[np.float16]


def neighbors(snapshot: Snapshot, projection: str, example: int, layer: int, head: int) -> Neighbors:
    """The nearest maps in the space that was projected."""
    of = source_of(snapshot.result("project", projection, "projection"), "project")
    snapshot.check_map(example, layer, head)
    vector = snapshot.atlas.read("features", (example, layer, head), of).astype(np.float32)
    squares = np.concatenate([_squares(part, vector) for part in _parts(snapshot, of)])
    _, layers, heads = snapshot.shape
    index = (example * layers + layer) * heads + head
    squares[index] = np.nan
    known = np.flatnonzero(np.isfinite(squares))
    distances = np.sqrt(squares[known])
    nearest = np.argpartition(distances, min(NEAREST, len(known)) - 1)[:NEAREST] if len(known) else known
    nearest = nearest[np.lexsort((nearest, distances[nearest]))]  # equally near maps in their order
    return Neighbors(
        projection=projection,
        features=str(of),
        example=example,
        layer=layer,
        head=head,
        median=float(np.median(distances)) if len(known) else 0.0,
        maps=[
            Neighbor(
                example=number // (layers * heads), layer=number // heads % layers, head=number % heads,
                distance=distance,
            )
            for number, distance in zip(known[nearest].tolist(), distances[nearest].tolist(), strict=True)
        ],
    )  # fmt: skip


def _parts(snapshot: Snapshot, of: str | None) -> Iterator[Half]:
    """The vectors (map, feature) of all maps in order, part by part."""
    array = snapshot.atlas.array("features", of)
    if array.nbytes <= KEPT_BYTES:
        yield snapshot.cached(("features", of), lambda: np.concatenate(list(_read(snapshot, of))))
    else:
        yield from _read(snapshot, of)


def _read(snapshot: Snapshot, of: str | None) -> Iterator[Half]:
    for _, block in read_blocks(snapshot.atlas, "features", of):
        yield block.reshape(-1, block.shape[-1])


def _squares(vectors: Half, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared distances of many vectors from one; NaN where there is no map."""
    squares = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), ROWS):
        gap = vectors[start : start + ROWS].astype(np.float32)
        gap -= vector
        np.einsum("ij,ij->i", gap, gap, out=squares[start : start + ROWS])
    return squares
