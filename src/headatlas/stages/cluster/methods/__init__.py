"""Clustering methods, one file each: the folder is the registry.

A file defines a class with the options (`Method`) and a public function of the method's name. Nothing else lists the
methods: the command line, sweeps, tests and docs read `CLASSES` and `METHODS`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator

from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.method import Method

DEFAULT = "kmeans"


def _classes() -> Iterator[type[Method]]:
    """The methods of all files in this folder, the default one first."""
    for file in sorted(pkgutil.iter_modules(__path__), key=lambda file: (file.name != DEFAULT, file.name)):
        module = importlib.import_module(f"{__name__}.{file.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Method) and item.__module__ == module.__name__:
                yield item


CLASSES: dict[str, type[Method]] = {method.name: method for method in _classes()}
METHODS: dict[str, Callable[..., Labels]] = {
    name: getattr(sys.modules[method.__module__], name) for name, method in CLASSES.items()
}
