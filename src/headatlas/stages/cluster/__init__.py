"""Cluster attention maps, or heads: which maps are similar, how stable that is, and what it agrees with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.stages.cluster.methods import METHODS

if TYPE_CHECKING:
    from headatlas.stages.cluster.methods.dbscan import dbscan
    from headatlas.stages.cluster.methods.gmm import gmm
    from headatlas.stages.cluster.methods.hdbscan import hdbscan
    from headatlas.stages.cluster.methods.kmeans import kmeans
    from headatlas.stages.cluster.sweeping import sweep

__all__ = ["METHODS", "dbscan", "gmm", "hdbscan", "kmeans", "sweep"]


def __getattr__(name: str) -> Any:
    """The function of each method, and `sweep`, which needs pyarrow and is imported on first use."""
    if name in METHODS:
        return METHODS[name]
    if name == "sweep":
        from headatlas.stages.cluster.sweeping import sweep

        return sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *METHODS, "sweep"})
