"""Queries and keys of every head in one space: a query lies near the keys it attends to.

>>> import headatlas as ha
>>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://qk.atlas")
>>> ha.qk.embed(atlas, "pca").shape
(6, 12, 30, 2)
"""

from __future__ import annotations

from typing import Any

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.options import either
from headatlas.stages.qk.methods import DEFAULT, METHODS

__all__ = ["METHODS", "embed"]

TOKENS = 5_000


def __dir__() -> list[str]:
    return sorted(__all__)


def embed(
    atlas: AtlasLike,
    method: str = DEFAULT,
    *,
    dims: int = 2,
    tokens: int = TOKENS,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Any:
    """Draw the queries and keys of every head in one space, or continue where an earlier run of the same call stopped.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://embed.atlas")
    >>> points = ha.qk.embed(atlas, "pca", dims=3)
    >>> points.shape, atlas.latest("qk")
    ((6, 12, 30, 3), 'pca-3d')

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with queries and keys, which `collect` stores for a sample of examples.
    method : {"tsne", "umap", "pca"}
        How vectors become points.
    dims : {2, 3}
        Dimensions of the plots.
    tokens : int
        Tokens to draw, at most: whole examples, drawn with the seed. Each is two points, a query and a key.
    seed : int
        Random seed.
    workers : int
        Number of processes; 0 uses threads.
    scheduler : str, optional
        Address of a Dask scheduler.

    Returns
    -------
    zarr.Array
        The array (layer, head, point, axis): the queries of all tokens, then their keys. Index it to read. The table
        `qk_points` says which token a point is, `qk_heads` how far each plot can be trusted.
    """
    check(method, dims, tokens, seed, workers)
    atlas = Atlas.open(atlas)
    from headatlas.stages.qk import stage  # which imports pyarrow

    name = stage.run(atlas, stage.Options(method, dims, tokens, seed), workers, scheduler)
    return atlas.array("qk_position", name)


def check(method: str, dims: int, tokens: int, seed: int, workers: int) -> None:
    """Refuse options that cannot be."""
    if method not in METHODS:
        raise OptionError(f"method {method!r}: choose {either(tuple(METHODS))}")
    if dims not in (2, 3):
        raise OptionError(f"dims {dims}: choose 2 or 3")
    if tokens < 2:
        raise OptionError(f"tokens {tokens}: give a whole number of at least 2")
    if seed < 0 or workers < 0:
        raise OptionError("seed and workers cannot be negative")
