"""From options to a finished clustering in the atlas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas import engine, schema
from headatlas.atlas.blocks import block_size
from headatlas.atlas.groups import group_column, read_groups
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.numeric.pca import PrincipalAxes
from headatlas.numeric.sampling import Index, thin
from headatlas.options import check
from headatlas.stages.cluster import quality
from headatlas.stages.cluster.assign import BY_HEAD, FIT, Job, assign, lloyd
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import one_core
from headatlas.stages.cluster.fit import Fit, Labels, by_size, of_centers, old_numbers
from headatlas.stages.cluster.fit_file import to_bytes
from headatlas.stages.cluster.method import Method, Request
from headatlas.stages.cluster.vectors import Floats, fit_space, read_heads, sample_maps

START = 100_000  # maps from which KMeans takes its first centers when all maps are used


@dataclass(frozen=True)
class Sample:
    """Fitted maps: their places, the axes, and coordinates on them."""

    index: Index
    space: PrincipalAxes
    x: Floats
    units: NDArray[np.int64]  # the group of texts of each map, or the number of each head


def cluster(atlas: AtlasLike, request: Request) -> Labels:
    """Labels (example, layer, head) of all maps: computed, or read if they exist already."""
    atlas = Atlas.open(atlas)
    of = atlas.needed("features", request.of)
    name = request.name or request.method.name + ("-heads" if request.level == "heads" else "")
    _check(atlas, of, request)
    options = {"method": request.method.name, "level": request.level, "sample": request.sample, "seed": request.seed}
    options |= {"backend": request.method.backend, **request.method.parameters}
    with engine.result(atlas, "cluster", name, options, inputs={"features": of}) as result:
        if not result.finished:
            with one_core():  # the same result whatever the number of cores
                _run(atlas, result, of, request)
    return np.asarray(atlas.read("labels", of=name), np.int32)


def _check(atlas: Atlas, of: str, request: Request) -> None:
    """Refuse invalid options before anything is computed."""
    check(request)
    heads = len(existing_heads(atlas))
    if request.sample < 0 or 0 < request.sample < heads:
        raise OptionError(
            f"sample {request.sample}: give at least one map for each of {heads} heads, or 0 for all maps"
        )
    request.method.check(heads if request.level == "heads" else heads * atlas.array("features", of).shape[0])


def take_sample(atlas: Atlas, of: str, level: str, sample: int, seed: int) -> Sample:
    """Read maps (or means of heads) and give them coordinates."""
    index, values = read_heads(atlas, of) if level == "heads" else sample_maps(atlas, of, sample, seed)
    units = index[:, 0]
    if level == "maps":
        units = read_groups(atlas, group_column(atlas, None)).number[units]
    space = fit_space(values)
    return Sample(index, space, space.apply(values), units)


def _run(atlas: Atlas, result: engine.Result, of: str, request: Request) -> None:
    method, seed = request.method, request.seed
    everything = request.level == "maps" and not request.sample and method.refines_over_all
    sample = take_sample(atlas, of, request.level, START if everything else request.sample, seed)
    method.check(len(sample.x))
    small = thin(sample.index, method.trial, seed)
    settled, stable, tried = method.settle(sample.x, sample.x[small], seed, units=sample.units[small])
    fit, fitted = settled.fit(sample.x, seed)
    if len(fit.centers) == 1:
        progress.say(f"{method.name} found a single cluster: {method.single}")
    _create_arrays(atlas, result, of, ("labels", "distance", *method.more_arrays))
    job = _publish(atlas, result, of, sample, fit, fitted, request)
    count = len(sample.x)
    if everything and count < _maps(atlas, of):
        count = _maps(atlas, of)
        fit, fitted = _over_all(atlas, job, fit, sample.x, request)
        job = _publish(atlas, result, of, sample, fit, fitted, request)
    assign(result, job, request.workers, request.scheduler)
    labels = result.atlas.read("labels", of=result.place.name)
    files = [result.file(FIT), _write_quality(result, sample, fitted, stable, labels, seed)]
    if method.parameters[method.parameter] == "auto":
        files.append(_write_choices(result, settled, tried))
    more_tables = settled.more_tables(result.atlas, result.place.name)
    files += [result.write_table(name, table) for name, table in more_tables.items()]
    cluster_stability = stable.of_clusters(fitted[small], len(fit.centers))
    result.finish(_facts(request, settled, count, labels, stable, cluster_stability), files)


def _maps(atlas: Atlas, of: str) -> int:
    return len(existing_heads(atlas)) * int(atlas.array("features", of).shape[0])


def _over_all(atlas: Atlas, job: Job, fit: Fit, x: Floats, request: Request) -> tuple[Fit, Labels]:
    """Lloyd's algorithm over all maps from the centers of the sample; numbered by size in the sample again."""
    moved = of_centers(lloyd(atlas, job, fit.centers, request.workers, request.scheduler))
    old = moved.label(x)[0]
    labels = by_size(old, x)
    return of_centers(moved.centers[old_numbers(old, labels)]), labels


def _create_arrays(atlas: Atlas, result: engine.Result, of: str, names: tuple[str, ...]) -> None:
    array = atlas.array("features", of)
    sizes = dict(zip(("example", "layer", "head"), array.shape[:3], strict=True))
    for name in names:
        result.create_array(name, sizes, block_size(array))


def _publish(
    atlas: Atlas, result: engine.Result, of: str, sample: Sample, fit: Fit, fitted: Labels, request: Request
) -> Job:
    """Write the fit where workers find it."""
    known: dict[str, NDArray[Any]] = {}
    if request.level == "heads":
        values = {**fit.labelings(sample.x), "labels": fitted, "distance": fit.distance(sample.x, fitted)}
        shape, heads = atlas.array("features", of).shape[1:3], tuple(sample.index[:, 1:].T)
        for name, of_heads in values.items():
            known[BY_HEAD + name] = np.full(shape, schema.ARRAYS[name].fill_value, of_heads.dtype)
            known[BY_HEAD + name][heads] = of_heads
    elif request.method.keeps_fitted_labels:
        known = {"index": sample.index, "labels": fitted}
    path = result.write_file(FIT, to_bytes(request.method.name, sample.space, fit, **known))
    return Job(result.place, of, str(atlas.files.digest(path)))


def _write_quality(
    result: engine.Result, sample: Sample, fitted: Labels, stable: Stability, labels: Labels, seed: int
) -> str:
    part = thin(sample.index, quality.MAPS, seed)
    measures = quality.table(sample.x[part], fitted[part], sample.index[part, 0], stable, labels, seed)
    return result.write_table("quality", measures)


def _write_choices(result: engine.Result, settled: Method, tried: list[tuple[float, float]]) -> str:
    chosen = settled.parameters[settled.parameter]
    rows = [
        {"parameter": settled.parameter, "value": value, "stability": stability, "chosen": value == chosen}
        for value, stability in tried
    ]
    return result.write_table("choices", pa.Table.from_pylist(rows))


def _facts(
    request: Request, settled: Method, fitted: int, labels: Labels, stable: Stability, cluster_stability: list[float]
) -> dict[str, Any]:
    total = int(np.count_nonzero(labels >= schema.NOISE))
    counts = np.bincount(labels[labels >= 0], minlength=len(cluster_stability)).tolist()
    noise = int(np.count_nonzero(labels == schema.NOISE)) / total
    return {
        "level": request.level,
        "method": settled.name,
        "parameters": settled.parameters,
        "fitted": fitted,
        "clusters": [
            {"cluster": cluster, "maps": maps, "share": maps / total, "stability": cluster_stability[cluster]}
            for cluster, maps in enumerate(counts)
        ],
        "noise": noise,
        "stability": stable.mean,
    }
