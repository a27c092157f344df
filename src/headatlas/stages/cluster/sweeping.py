"""Methods and numbers of clusters side by side, on one sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headatlas import progress
from headatlas.atlas import engine
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import DataError, OptionError
from headatlas.numeric.sampling import thin
from headatlas.stages.cluster import quality
from headatlas.stages.cluster.auto import GRID
from headatlas.stages.cluster.backends import one_core
from headatlas.stages.cluster.method import Method
from headatlas.stages.cluster.methods import CLASSES
from headatlas.stages.cluster.stage import Sample, take_sample

FIELDS = pa.schema(
    [("method", pa.string()), ("parameter", pa.string()), ("value", pa.float64())]
    + [("clusters", pa.int64())]
    + [(name, pa.float64()) for name in ("noise", *quality.SHAPES, "stability", "agreement_head")]
)


def sweep(
    atlas: AtlasLike,
    *,
    methods: Sequence[str] | None = None,
    ks: Sequence[int] = GRID,
    of: str | None = None,
    sample: int = 4000,
    seed: int = 0,
) -> pa.Table:
    """Compare methods and parameters on one sample of maps.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://sweep.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> ha.cluster.sweep(atlas, methods=["kmeans"], ks=[4, 8])["clusters"].to_pylist()
    [4, 8]

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with features.
    methods : sequence of str, optional
        Names of `ha.cluster.METHODS`; all of them if not given. Each brings its own grid of parameters.
    ks : sequence of int
        Numbers of clusters for methods that take one.
    of : str, optional
        The features to cluster; the latest if not given.
    sample : int
        Maps that are fitted, equally many of each head.
    seed : int
        Random seed.

    Returns
    -------
    table : pyarrow.Table
        One row per clustering, also kept in the atlas as the table `sweep`.
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("features", of)
    methods = list(CLASSES) if methods is None else methods
    unknown = [name for name in methods if name not in CLASSES]
    if unknown or not methods:
        raise OptionError(f"methods {', '.join(unknown) or 'none'}: choose among {', '.join(CLASSES)}")
    heads = len(existing_heads(atlas))
    if sample < heads:
        raise OptionError(f"sample {sample}: give at least one map for each of {heads} heads")
    options = {"methods": list(methods), "ks": list(ks), "sample": sample, "seed": seed}
    with engine.result(atlas, "sweep", "sweep", options, inputs={"features": of}) as result:
        if not result.finished:
            with one_core():
                drawn_sample = take_sample(atlas, of, "maps", sample, seed)
                rows = _try_all(_candidates(methods, drawn_sample, ks), drawn_sample, seed)
            file = result.write_table("sweep", pa.Table.from_pylist(rows, FIELDS))
            result.finish({"fits": len(rows)}, [file])
    return atlas.table("sweep")


def _candidates(methods: Sequence[str], sample: Sample, ks: Sequence[int]) -> list[Method]:
    candidates = [method for name in methods for method in CLASSES[name].sweep_grid(sample.x, ks)]
    least, count = max(method.least_maps for method in candidates), len(sample.x)
    if count < least:
        raise DataError(f"a sweep needs at least {least} maps, there are {count}: collect more examples")
    for method in candidates:
        method.check(count)
    return candidates


def _try_all(candidates: list[Method], sample: Sample, seed: int) -> list[quality.Row]:
    rows = []
    with progress.bar("sweeping", len(candidates), "fits") as advance:
        for method in candidates:
            rows.append(_try(method, sample, seed))
            advance(1)
    return rows


def _try(method: Method, sample: Sample, seed: int) -> quality.Row:
    """One row; a clustering of noise alone has no clusters and no measures."""
    value = method.parameters[method.parameter]
    row: quality.Row = {"method": method.name, "parameter": method.parameter, "value": value}
    try:
        small = thin(sample.index, method.trial, seed)
        settled, stable, _ = method.settle(sample.x, sample.x[small], seed, bar=False, units=sample.units[small])
        labels = settled.fit(sample.x, seed)[1]
    except DataError:
        return row | {"clusters": 0, "noise": 1.0} | dict.fromkeys(FIELDS.names[5:], np.nan)
    row |= {"clusters": int(labels.max()) + 1, "noise": float((labels < 0).mean()), "stability": stable.mean}
    row |= {measure["measure"]: measure["value"] for measure in quality.shape(sample.x, labels)}
    by_head = quality.agreement(labels, sample.index, intervals=False)[0]
    return row | {by_head["measure"]: by_head["value"]}
