"""Fitting on the sample, then piece by piece: the points of some blocks, placed, given their trust, and written."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.atlas.store import Atlas
from headatlas.numeric.pca import PrincipalAxes
from headatlas.numeric.threads import single_thread
from headatlas.stages.project.methods import Method, enough, fit_space
from headatlas.stages.project.sample import sample_maps
from headatlas.stages.project.trust import neighbours_for, trust_of_placed, trust_per_point

Done = tuple[int, list[str], float, int]

TOGETHER = 8192  # maps placed by one call: each call of t-SNE lays out its grid anew


@dataclass(frozen=True)
class Fitted:
    """A fitted projection and the sample it was fitted on."""

    method: Method
    space: PrincipalAxes
    numbers: NDArray[np.int64]  # of the sample's maps, rising
    vectors: NDArray[np.float32]  # their principal components
    positions: NDArray[np.float32]
    trust: NDArray[np.float32]
    neighbours: int


def fit(atlas: Atlas, of: str, method: Method, sample: int, seed: int) -> Fitted:
    """Fit on the sample, and judge it there exactly."""
    numbers, features = sample_maps(atlas, of, sample, seed)
    enough(len(numbers))
    space = fit_space(features)
    vectors = space.apply(features)
    positions = method.fit(vectors)
    k = neighbours_for(len(numbers))
    return Fitted(method, space, numbers, vectors, positions, trust_per_point(vectors, positions, k), k)


@dataclass(frozen=True)
class Work:
    """The function that is run over ranges of examples; gives their number, the files, and the trust of the placed."""

    path: str
    of: str
    name: str
    fitted: Fitted

    @single_thread()
    def __call__(self, examples: range) -> Done:
        """Do one range."""
        parallel.check()
        atlas, where = Atlas.open(self.path), slice(examples.start, examples.stop)
        features = atlas.read("features", where, of=self.of)
        shape, flat = features.shape[:3], features.reshape(-1, features.shape[-1])
        heads = shape[1] * shape[2]
        position, trust, placed = points(self.fitted, flat, examples.start * heads)
        files = atlas.write_blocks("position", examples.start, position.reshape(*shape, 2), of=self.name)
        files += atlas.write_blocks("trust", examples.start, trust.reshape(shape), of=self.name)
        return len(examples), files, float(trust[placed].sum(dtype=np.float64)), int(placed.sum())


def points(
    fitted: Fitted, features: NDArray[np.float16], first: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Position and trust of maps that follow one another from number `first` on, and which of them had to be placed."""
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
        trust[placed] = trust_of_placed(
            vectors, position[placed], fitted.vectors, fitted.positions, k=fitted.neighbours
        )
    return position, trust, placed


def place_all(
    atlas: Atlas, work: Work, block: int, workers: int, scheduler: str | None
) -> tuple[list[str], float | None]:
    """Place and write every block. Gives the files and the mean trust of the placed points, None if there are none."""
    examples, layers, heads = atlas.array("features", work.of).shape[:3]
    step = block * max(1, -(-TOGETHER // (block * layers * heads)))
    tasks = [range(start, min(start + step, examples)) for start in range(0, examples, step)]
    files: list[str] = []
    sums: list[float] = []
    count = 0
    elsewhere = bool(workers) or scheduler is not None
    with (
        progress.bar("placing", examples, "examples") as advance,
        closing(
            parallel.run(work, tasks, workers=workers, scheduler=scheduler)
            if elsewhere or work.fitted.method.at_once
            else _one_by_one(work, tasks)
        ) as results,
    ):
        for done, written, trust, placed in results:
            files += written
            sums.append(trust)
            count += placed
            advance(done)
    return sorted(files), math.fsum(sums) / count if count else None  # exact: they come in no certain order


def _one_by_one(work: Work, tasks: list[range]) -> Generator[Done, None, None]:
    yield from map(work, tasks)
