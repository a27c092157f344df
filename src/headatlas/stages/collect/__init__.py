"""Collect the attention of every head on every example: pooled maps, statistics, and a sample of queries and keys."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headatlas import data
from headatlas.data import Dataset
from headatlas.stages.collect.options import Options, check

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.encode import Overlong
    from headatlas.models.load import ModelLike

__all__ = ["Options", "check", "maps"]


def __dir__() -> list[str]:
    return sorted(__all__)


def maps(
    model: ModelLike,
    dataset: Dataset | str | os.PathLike[str] | Iterable[Any],
    path: str | os.PathLike[str],
    *,
    resolution: int = 32,
    max_tokens: int | None = None,
    overlong: Overlong = "truncate",
    qk_tokens: int = 20_000,
    seed: int = 0,
    norms: bool = False,
    batch_tokens: int = 2048,
    workers: int = 0,
    scheduler: str | None = None,
) -> Atlas:
    """Collect a dataset with a model into an atlas, or continue where an earlier run of the same call stopped.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://two.atlas")
    >>> atlas.read("pooled").shape  # (example, layer, head, query, key)
    (2, 6, 12, 32, 32)

    Parameters
    ----------
    model : Model, str or path
        A model loaded with `models.load`, or its name.
    dataset : Dataset, str, path, table or iterable
        A dataset loaded with `data.load`, or anything that `data.load` accepts, such as a name, texts or a DataFrame.
    path : str or path
        Folder or fsspec URL of the atlas.
    resolution : int
        Side of the pooled maps.
    max_tokens : int, optional
        Longest text, if shorter than the model allows.
    overlong : {"truncate", "window"}
        Truncate longer texts, or cut them in overlapping windows.
    qk_tokens : int
        Number of tokens, in whole examples chosen at random, whose queries and keys are stored.
    seed : int
        Random seed.
    norms : bool
        Keep what each head moves as well: attention times the length of what the value becomes after the output
        projection, by where it comes from.
    batch_tokens : int
        Tokens in one forward pass.
    workers, scheduler : int, str, optional
        Number of processes (0 uses threads), or the address of a Dask scheduler. The result is the same bit for bit.

    Returns
    -------
    Atlas
    """
    options = Options(resolution, max_tokens, overlong, qk_tokens, seed, batch_tokens, norms)
    texts = dataset if isinstance(dataset, Dataset) else data.load(dataset)
    check(model, texts, path, options, workers)
    from headatlas.stages.collect import stage  # which imports torch: mistakes are reported before that

    return stage.collect(model, texts, path, options, workers, scheduler)
