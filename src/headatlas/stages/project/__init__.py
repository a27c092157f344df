"""Project all maps to the plane, so that similar maps are close, and say how far each point can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas import options
from headatlas.atlas import engine
from headatlas.atlas.blocks import block_size
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.numeric.threads import single_thread
from headatlas.numeric.trust import trust_of_placed, trust_per_point
from headatlas.stages.project.method import Positions, Request
from headatlas.stages.project.methods import METHODS
from headatlas.stages.project.placing import Fitted, fit, place_all

if TYPE_CHECKING:
    from headatlas.stages.project.methods.pca import pca
    from headatlas.stages.project.methods.tsne import tsne
    from headatlas.stages.project.methods.umap import umap

__all__ = ["METHODS", "pca", "trust_of_placed", "trust_per_point", "tsne", "umap"]


def __getattr__(name: str) -> Any:
    """The function of each method."""
    if name in METHODS:
        return METHODS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def project(atlas: AtlasLike, request: Request) -> Positions:
    """Positions (example, layer, head, 2) of all maps: computed, or read if they exist already."""
    atlas = Atlas.open(atlas)
    method, sample, seed = request.method, request.sample, request.seed
    of, name = atlas.needed("features", request.of), request.name or method.name
    options.check(request)
    options.check(method)
    recipe = {"method": method.name, "sample": sample, "seed": seed, **method.parameters}
    with engine.result(atlas, "project", name, recipe, inputs={"features": of}) as result:
        if not result.finished:
            with single_thread("sklearn"):  # the same result whatever the number of cores
                fitted = fit(atlas, of, method, sample, seed)
                _create_arrays(atlas, result, of, fitted)
                placed_trust = place_all(result, of, fitted, request.workers, request.scheduler)
            result.finish(_facts(fitted, placed_trust))
    return atlas.read("position", of=name)


def _create_arrays(atlas: Atlas, result: engine.Result, of: str, fitted: Fitted) -> None:
    array = atlas.array("features", of)
    sizes = dict(zip(("example", "layer", "head"), array.shape[:3], strict=True)) | {"axis": 2}
    for name in ("position", "trust"):
        result.create_array(name, sizes, block_size(array), {"neighbors": fitted.neighbors})


def _facts(fitted: Fitted, placed_trust: float | None) -> dict[str, Any]:
    """The facts recorded with a projection: how far it can be trusted, and what it was fitted on."""
    kind = fitted.method.name
    shares, k = fitted.space.shares, fitted.neighbors
    trust = float(fitted.trust.mean(dtype=np.float64))
    continuity = float(trust_per_point(fitted.positions, fitted.vectors, k).mean(dtype=np.float64))
    facts: dict[str, Any] = {"method": kind, "trustworthiness": round(trust, 4), "continuity": round(continuity, 4)}
    facts |= {"placed_trustworthiness": None if placed_trust is None else round(placed_trust, 4)}
    facts |= {"neighbors": k, "sample": len(fitted.numbers), "components": len(shares)}
    facts |= {"components_variance": round(float(shares.sum()), 4)}
    if fitted.method.linear:
        facts["variance"] = [round(float(share), 4) for share in np.pad(shares, (0, 2))[:2]]
    return facts
