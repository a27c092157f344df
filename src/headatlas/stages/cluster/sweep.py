"""Methods and numbers of clusters side by side, on one sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headatlas import progress
from headatlas.atlas import engine
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, OptionError
from headatlas.stages.cluster import quality
from headatlas.stages.cluster.auto import GRID, knee
from headatlas.stages.cluster.backends import alone, core_distances
from headatlas.stages.cluster.methods import DBSCAN, HDBSCAN, KMeans, Method
from headatlas.stages.cluster.stage import Sample, take_sample
from headatlas.stages.cluster.vectors import Floats, fewer, heads_of

FIELDS = pa.schema(
    [("method", pa.string()), ("parameter", pa.string()), ("value", pa.float64())]
    + [("clusters", pa.int64())]
    + [(name, pa.float64()) for name in ("noise", *quality.SHAPES, "stability", "agreement_head")]
)


def sweep(
    atlas: Atlas,
    *,
    methods: Sequence[str] = ("kmeans", "dbscan", "hdbscan"),
    ks: Sequence[int] = GRID,
    of: str | None = None,
    sample: int = 4000,
    seed: int = 0,
) -> pa.Table:
    """Compare methods and parameters: a row each, also kept as the table `sweep`.

    KMeans is tried with each of `ks`, DBSCAN with eps around the knee, HDBSCAN with several smallest clusters, all on
    one sample of maps, equally many of each head.
    """
    of = atlas.needed("features", of)
    strangers = [one for one in methods if one not in ("kmeans", "dbscan", "hdbscan")]
    if strangers or not methods:
        raise OptionError(f"methods {', '.join(strangers) or 'none'}: choose among kmeans, dbscan, hdbscan")
    if not len(heads_of(atlas)) <= sample:
        raise OptionError(f"sample {sample}: give at least one map for each of {len(heads_of(atlas))} heads")
    options = {"methods": list(methods), "ks": list(ks), "sample": sample, "seed": seed}
    with engine.result(atlas, "sweep", "sweep", options, inputs={"features": of}) as result:
        if not result.finished:
            with alone():
                rows = _rows(take_sample(atlas, of, "maps", sample, seed), methods, ks, seed)
            file = result.write_table("sweep", pa.Table.from_pylist(rows, FIELDS))
            result.finish({"fits": len(rows)}, [file])
    return atlas.table("sweep")


def _rows(sample: Sample, methods: Sequence[str], ks: Sequence[int], seed: int) -> list[quality.Row]:
    """One row per way to cluster the sample."""
    least = max([DBSCAN.min_samples, *(ks if "kmeans" in methods else ())])
    if len(sample.x) < least:
        raise DataError(f"a sweep needs at least {least} maps, there are {len(sample.x)}: collect more examples")
    ways = [way for name in methods for way in _ways(name, sample.x, ks)]
    for way in ways:
        way.check(len(sample.x))
    rows = []
    with progress.bar("sweeping", len(ways), "fits") as advance:
        for way in ways:
            rows.append(_try(way, sample, seed))
            advance(1)
    return rows


def _ways(name: str, x: Floats, ks: Sequence[int]) -> list[Method]:
    if name == "kmeans":
        return [KMeans(k) for k in ks]
    if name == "dbscan":
        middle = knee(core_distances(x, DBSCAN.min_samples)) or 1.0
        return [DBSCAN(middle * factor) for factor in (0.6, 0.8, 1.0, 1.25)]
    return [HDBSCAN(size) for size in sorted({max(5, round(len(x) * share)) for share in (0.0025, 0.005, 0.01, 0.02)})]


def _try(way: Method, taken: Sample, seed: int) -> quality.Row:
    """One row; a clustering of noise alone has no clusters and no measures."""
    row: quality.Row = {"method": way.name, "parameter": way.parameter, "value": way.parameters[way.parameter]}
    try:
        small = fewer(taken.index, way.trial, seed)
        settled, stable, _ = way.settle(taken.x, taken.x[small], seed, bar=False)
        labels = settled.fit(taken.x, seed)[1]
    except DataError:
        return row | {"clusters": 0, "noise": 1.0} | dict.fromkeys(FIELDS.names[5:], np.nan)
    row |= {"clusters": int(labels.max()) + 1, "noise": float((labels < 0).mean()), "stability": stable.mean}
    row |= {one["measure"]: one["value"] for one in quality.shape(taken.x, labels)}
    first = quality.agreement(labels, taken.index, intervals=False)[0]
    return row | {first["measure"]: first["value"]}
