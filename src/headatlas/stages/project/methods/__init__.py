"""Projections, one file each: the folder is the registry.

A file defines a class with the options (`Method`) and a public function of the method's name. Nothing else lists the
methods: the command line, tests and docs read `CLASSES` and `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable

from headatlas import registry
from headatlas.stages.project.method import Method, Positions

DEFAULT = "pca"
AUTO = "auto"  # by the number of maps: see `by_size`
TSNE_MAPS = range(100, 200_001)  # fewer have too few neighbors; t-SNE places a few thousand maps per second

_methods = registry.methods(__name__, Method, first=DEFAULT)
CLASSES: dict[str, type[Method]] = {name: method for name, (method, _) in _methods.items()}
METHODS: dict[str, Callable[..., Positions]] = {name: function for name, (_, function) in _methods.items()}


def by_size(maps: int) -> str:
    """The projection for so many maps: t-SNE separates groups better than PCA, but takes longer.

    >>> by_size(88), by_size(10_080), by_size(1_000_080)
    ('pca', 'tsne', 'pca')
    """
    return "tsne" if maps in TSNE_MAPS else "pca"
