"""Fit on the sample, then place the points of the other maps block by block, with their trust."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas import engine
from headatlas.atlas.blocks import block_ranges, block_size
from headatlas.atlas.store import Atlas
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.numeric.pca import PrincipalAxes
from headatlas.numeric.threads import single_thread
from headatlas.numeric.trust import neighbors_for, trust_of_placed, trust_per_point
from headatlas.stages.project.method import Method
from headatlas.stages.project.reduction import enough, fit_space
from headatlas.stages.project.sample import sample_maps

TOGETHER = 8192  # maps placed by one call: each call of t-SNE recomputes its grid


@dataclass(frozen=True)
class Fitted:
    """A fitted projection and the sample it was fitted on."""

    method: Method
    space: PrincipalAxes
    numbers: NDArray[np.int64]  # of the sample's maps, rising
    vectors: NDArray[np.float32]  # their principal components
    positions: NDArray[np.float32]
    trust: NDArray[np.float32]
    neighbors: int


def fit(atlas: Atlas, of: str, method: Method, sample: int, seed: int) -> Fitted:
    """Fit on the sample, with the exact trust of its points."""
    numbers, features = sample_maps(atlas, of, sample, seed)
    enough(len(numbers))
    space = fit_space(features)
    vectors = space.apply(features)
    positions = method.fit(vectors)
    k = neighbors_for(len(numbers))
    return Fitted(method, space, numbers, vectors, positions, trust_per_point(vectors, positions, k), k)


@dataclass(frozen=True)
class PlaceBlock:
    """The function that is run over the numbers of all pieces of work; returns the number of examples done."""

    place: Place
    of: str
    fitted: Fitted
    ranges: tuple[range, ...]

    @single_thread()
    def __call__(self, number: int) -> int:
        """Place the maps of some examples, and write their positions and trust."""
        parallel.check()
        writer, examples = Writer(self.place), self.ranges[number]
        features = writer.atlas.read("features", slice(examples.start, examples.stop), of=self.of)
        shape, flat = features.shape[:3], features.reshape(-1, features.shape[-1])
        heads = shape[1] * shape[2]
        position, trust, placed = points(self.fitted, flat, examples.start * heads)
        files = writer.write_blocks("position", examples.start, position.reshape(*shape, 2))
        files += writer.write_blocks("trust", examples.start, trust.reshape(shape))
        facts = {"trust": float(trust[placed].sum(dtype=np.float64)), "placed": int(placed.sum())}
        writer.write_manifest(block_name(number), files, facts)
        return len(examples)


def points(
    fitted: Fitted, features: NDArray[np.float16], first: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Position and trust of consecutive maps from number `first` on, and which of them had to be placed."""
    count = len(features)
    position, trust = np.full((count, 2), np.nan, np.float32), np.full(count, np.nan, np.float32)
    lo, hi = np.searchsorted(fitted.numbers, (first, first + count))
    sampled = fitted.numbers[lo:hi] - first
    position[sampled], trust[sampled] = fitted.positions[lo:hi], fitted.trust[lo:hi]
    placed: NDArray[np.bool_] = np.logical_not(np.isnan(features).any(axis=1))
    placed[sampled] = False
    if placed.any():
        vectors = fitted.space.apply(features[placed])
        position[placed] = fitted.method.place(vectors)
        trust[placed] = trust_of_placed(vectors, position[placed], fitted.vectors, fitted.positions, k=fitted.neighbors)
    return position, trust, placed


def place_all(
    result: engine.Result, of: str, fitted: Fitted, workers: int, scheduler: str | None
) -> float | None:  # fmt: skip
    """Place every map; returns the mean trust of the points that were not in the sample, None if there are none."""
    array = result.atlas.array("features", of)
    block, maps_per_example = block_size(array), int(array.shape[1] * array.shape[2])
    step = block * max(1, -(-TOGETHER // (block * maps_per_example)))
    ranges = tuple(block_ranges(int(array.shape[0]), step))
    engine.run_blocks(
        result, PlaceBlock(result.place, of, fitted, ranges), ranges, "placing",
        threads=None if fitted.method.at_once else 1, workers=workers, scheduler=scheduler,
    )  # fmt: skip
    manifests = [result.manifest(block_name(number)) for number in range(len(ranges))]
    facts = [manifest["facts"] for manifest in manifests if manifest is not None]
    placed = sum(fact["placed"] for fact in facts)
    return math.fsum(fact["trust"] for fact in facts) / placed if placed else None
