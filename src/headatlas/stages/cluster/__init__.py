"""Cluster attention maps, or heads: which maps are similar, how stable that is, and what it agrees with."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headatlas.stages.cluster.methods import METHODS

if TYPE_CHECKING:
    from headatlas.stages.cluster.methods.dbscan import dbscan
    from headatlas.stages.cluster.methods.gmm import gmm
    from headatlas.stages.cluster.methods.hdbscan import hdbscan
    from headatlas.stages.cluster.methods.kmeans import kmeans
    from headatlas.stages.cluster.methods.tree import tree
    from headatlas.stages.cluster.nodes import labels_at, nodes_at
    from headatlas.stages.cluster.sweeping import sweep

__all__ = ["METHODS", "dbscan", "gmm", "hdbscan", "kmeans", "labels_at", "nodes_at", "sweep", "tree"]

_LATER = {"labels_at": "nodes", "nodes_at": "nodes", "sweep": "sweeping"}  # they need pyarrow: imported on first use


def __getattr__(name: str) -> Any:
    """The function of each method, and functions that are imported on first use."""
    if name in METHODS:
        return METHODS[name]
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
