"""Label every map, block by block, and move centers over all maps; each block uses one core."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.atlas import engine
from headatlas.atlas.blocks import row_ranges
from headatlas.atlas.schema import MISSING
from headatlas.atlas.store import Atlas
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.numeric.pca import PrincipalAxes
from headatlas.numeric.threads import single_thread
from headatlas.stages.cluster.fit import Fit, of_centers
from headatlas.stages.cluster.fit_file import from_bytes
from headatlas.stages.cluster.vectors import Floats

TOLERANCE = 1e-4  # of the mean variance, as in scikit-learn
PASSES = 100
Step = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


FIT = "fit.npz"  # the fitted clustering that workers read
BY_HEAD = "head_"  # begins the names of arrays (layer, head) in it that hold for all examples


@dataclass(frozen=True)
class Job:
    """Everything a worker needs; the fit itself is read from the atlas, once in each process."""

    place: Place
    of: str
    digest: str

    def load(self) -> tuple[PrincipalAxes, Fit, dict[str, NDArray[Any]]]:
        """The axes, the fit, and the labels of single maps or heads that are known already."""
        return _load(self.place, self.digest)


@lru_cache(maxsize=2)
def _load(place: Place, digest: str) -> tuple[PrincipalAxes, Fit, dict[str, NDArray[Any]]]:
    writer = Writer(place)
    return from_bytes(writer.atlas.files.read(writer.file(FIT)))


def project(atlas: Atlas, of: str, space: PrincipalAxes, examples: range) -> tuple[NDArray[np.bool_], Floats]:
    """Which maps of a block exist (example, layer, head), and the coordinates of those."""
    values = atlas.read("features", slice(examples.start, examples.stop), of)
    present = ~np.isnan(values).any(-1)
    return present, space.apply(values[present])


@dataclass(frozen=True)
class Assign:
    """The function that is run over the numbers of all blocks; returns the number of examples done."""

    job: Job

    @single_thread()
    def __call__(self, number: int) -> int:
        """Label one block."""
        parallel.check()
        job, writer = self.job, Writer(self.job.place)
        examples = row_ranges(writer.atlas, "features", job.of)[number]
        arrays = _block(writer.atlas, job, examples)
        files = [file for name, values in arrays.items() for file in writer.write_blocks(name, examples.start, values)]
        writer.write_manifest(block_name(number), files, {"fit": job.digest})
        return len(examples)


def _block(atlas: Atlas, job: Job, examples: range) -> dict[str, NDArray[Any]]:
    """The arrays of a block (example, layer, head) by name."""
    space, fit, known = job.load()
    by_head = {name.removeprefix(BY_HEAD): array for name, array in known.items() if name.startswith(BY_HEAD)}
    if by_head:  # every map has the label of its head
        return {name: np.repeat(array[None], len(examples), 0) for name, array in by_head.items()}
    present, x = project(atlas, job.of, space, examples)
    labelings = fit.labelings(x)
    arrays: dict[str, NDArray[Any]] = {name: np.full(present.shape, MISSING, np.int32) for name in labelings}
    for name, values in labelings.items():
        arrays[name][present] = values
    if "index" in known:  # maps that were fitted keep the label from the fit
        index = known["index"]
        part = slice(*np.searchsorted(index[:, 0], [examples.start, examples.stop]))
        example, layer, head = index[part].T
        arrays["labels"][example - examples.start, layer, head] = known["labels"][part]
    arrays["distance"] = np.full(present.shape, np.nan, np.float32)
    arrays["distance"][present] = fit.distance(x, arrays["labels"][present])
    return arrays


def assign(result: engine.Result, job: Job, workers: int, scheduler: str | None) -> None:
    """Label all blocks that were not labeled by this fit."""
    ranges, facts = row_ranges(result.atlas, "features", job.of), {"fit": job.digest}
    engine.run_blocks(result, Assign(job), ranges, "labeling", facts=facts, workers=workers, scheduler=scheduler)


@dataclass(frozen=True)
class Sums:
    """One block's part of a step of Lloyd's algorithm: how many maps are nearest to each center, and their sum."""

    job: Job
    centers: NDArray[np.float64]

    @single_thread()
    def __call__(self, number: int) -> tuple[int, Step]:
        """The number of the block, and its part."""
        parallel.check()
        atlas = Writer(self.job.place).atlas
        _, x = project(atlas, self.job.of, self.job.load()[0], row_ranges(atlas, "features", self.job.of)[number])
        return number, sums(x, self.centers)


def sums(x: Floats, centers: NDArray[np.float64]) -> Step:
    """Counts (cluster), sums (cluster, axis) and sums of squares (axis) of points by their nearest center."""
    labels = of_centers(centers).label(x)[0]
    wide = x.astype(np.float64)
    total = np.stack([np.bincount(labels, column, len(centers)) for column in wide.T], 1)
    counts = np.bincount(labels, minlength=len(centers)).astype(np.int64)
    return counts, total.astype(np.float64), np.einsum("ij,ij->j", wide, wide)


def _add(a: Step, b: Step) -> Step:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def lloyd(
    atlas: Atlas, job: Job, centers: NDArray[Any], workers: int, scheduler: str | None, tolerance: float = TOLERANCE
) -> NDArray[np.float64]:
    """Move centers to the mean of their maps until they converge. Blocks are summed in order: results are reproducible.

    A center that loses all its maps stays where it is.
    """
    centers = centers.astype(np.float64)
    numbers = list(range(len(row_ranges(atlas, "features", job.of))))
    with progress.bar("moving centers", PASSES, "passes") as advance:
        for _ in range(PASSES):
            with closing(parallel.run(Sums(job, centers), numbers, workers=workers, scheduler=scheduler)) as results:
                parts = sorted(results, key=itemgetter(0))
            counts, total, squares = reduce(_add, (step for _, step in parts))
            new = np.where(counts[:, None] > 0, total / np.maximum(counts, 1)[:, None], centers)
            variance = (squares / counts.sum() - (total.sum(0) / counts.sum()) ** 2).mean()
            moved = float(((new - centers) ** 2).sum())
            centers = new
            advance(1)
            if moved <= tolerance * variance:
                break
    return centers
