"""Headatlas: what every attention head of a transformer does, over a whole dataset.

>>> import headatlas as ha
>>> atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=2), "memory://small.atlas")
>>> print(ha.open("memory://small.atlas").done)
['collect']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headatlas import compare, data, errors, evaluate, models, null, pipeline, plot, web
    from headatlas.atlas.store import Atlas, AtlasLike
    from headatlas.stages import cluster, collect, correlate, features, finetune, probe, project, qk, tsne

__version__ = "0.1.0"
__all__ = [
    "Atlas", "__version__", "cluster", "collect", "compare", "correlate", "data", "errors", "evaluate", "features",
    "finetune", "models", "null", "open", "pipeline", "plot", "probe", "project", "qk", "tsne", "web",
]  # fmt: skip

_STAGES = {"cluster", "collect", "correlate", "features", "finetune", "probe", "project", "qk", "tsne"}


def open(path: AtlasLike) -> Atlas:  # noqa: A001 - read as headatlas.open
    """Open an atlas: a local folder or any fsspec URL. An atlas that is open already is returned."""
    from headatlas.atlas.store import Atlas

    return Atlas.open(path)


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import parts on first use: `import headatlas` itself loads neither torch nor dask."""
    if name == "Atlas":
        from headatlas.atlas.store import Atlas

        return Atlas
    if name in _STAGES:
        return importlib.import_module(f"headatlas.stages.{name}")
    if name in __all__:
        return importlib.import_module(f"headatlas.{name}")
    raise AttributeError(f"module 'headatlas' has no attribute {name!r}")
