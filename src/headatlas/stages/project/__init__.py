"""Draw all maps in the plane, so that maps that look alike lie together, and say how far each point can be believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headatlas.atlas import engine
from headatlas.atlas.blocks import block_size
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.stages.project.methods import Method, Pca, Tsne, Umap
from headatlas.stages.project.placing import Fitted, fit, place_all
from headatlas.stages.project.trust import trust_of_placed, trust_per_point

__all__ = ["METHODS", "pca", "trust_of_placed", "trust_per_point", "tsne", "umap"]

Positions = NDArray[np.float32]


def pca(
    atlas: Atlas,
    *,
    of: str | None = None,
    name: str | None = None,
    sample: int = 20_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Positions (example, layer, head, 2) by the first two principal components of the features called `of`.

    The axes are fitted on `sample` maps, as many of each head, drawn with `seed`; every map is placed by them.
    """
    return _project(atlas, "pca", Pca(), {}, of, name, sample, seed, workers, scheduler)


def umap(
    atlas: Atlas,
    *,
    of: str | None = None,
    name: str | None = None,
    neighbours: int = 15,
    sample: int = 5_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Positions (example, layer, head, 2) by UMAP of the first 50 principal components of the features called `of`.

    UMAP is fitted on `sample` maps, as many of each head, drawn with `seed`; its own transform places the rest.
    """
    method = Umap(neighbours, seed)
    return _project(atlas, "umap", method, {"neighbours": neighbours}, of, name, sample, seed, workers, scheduler)


def tsne(
    atlas: Atlas,
    *,
    of: str | None = None,
    name: str | None = None,
    perplexity: float = 30,
    sample: int = 5_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Positions:
    """Positions (example, layer, head, 2) by t-SNE of the first 50 principal components of the features called `of`.

    t-SNE is fitted on `sample` maps, as many of each head, drawn with `seed`; openTSNE's own transform places the rest.
    """
    method = Tsne(perplexity, seed)
    return _project(atlas, "tsne", method, {"perplexity": perplexity}, of, name, sample, seed, workers, scheduler)


METHODS: dict[str, Callable[..., Positions]] = {"pca": pca, "umap": umap, "tsne": tsne}


def _project(
    atlas: Atlas,
    kind: str,
    method: Method,
    options: Mapping[str, Any],
    of: str | None,
    name: str | None,
    sample: int,
    seed: int,
    workers: int,
    scheduler: str | None,
) -> Positions:
    of, name = atlas.needed("features", of), name or kind
    if sample < 4 or seed < 0:
        raise OptionError("--sample must be at least 4, and --seed cannot be negative")
    recipe = {"method": kind, "sample": sample, "seed": seed, **options}
    with engine.result(atlas, "project", name, recipe, inputs={"features": of}) as result:
        if not result.finished:
            with threadpool_limits(1):  # the same bits whatever the number of cores
                fitted = fit(atlas, of, method, sample, seed)
                _create_arrays(atlas, result, of, fitted)
                placed_trust = place_all(result, of, fitted, workers, scheduler)
            result.finish(_facts(kind, fitted, placed_trust))
    return atlas.read("position", of=name)


def _create_arrays(atlas: Atlas, result: engine.Result, of: str, fitted: Fitted) -> None:
    array = atlas.array("features", of)
    sizes = dict(zip(("example", "layer", "head"), array.shape[:3], strict=True)) | {"axis": 2}
    for name in ("position", "trust"):
        result.create_array(name, sizes, block_size(array), {"neighbours": fitted.neighbours})


def _facts(kind: str, fitted: Fitted, placed_trust: float | None) -> dict[str, Any]:
    """What is worth knowing of a projection: how far to believe it, and what it was fitted on."""
    shares, k = fitted.reduction.shares, fitted.neighbours
    trust = float(fitted.trust.mean(dtype=np.float64))
    continuity = float(trust_per_point(fitted.positions, fitted.vectors, k).mean(dtype=np.float64))
    facts: dict[str, Any] = {"method": kind, "trustworthiness": round(trust, 4), "continuity": round(continuity, 4)}
    facts |= {"placed_trustworthiness": None if placed_trust is None else round(placed_trust, 4)}
    facts |= {"neighbours": k, "sample": len(fitted.numbers), "components": len(shares)}
    facts |= {"components_variance": round(float(shares.sum()), 4)}
    if kind == "pca":
        facts["variance"] = [round(float(share), 4) for share in np.pad(shares, (0, 2))[:2]]
    return facts
