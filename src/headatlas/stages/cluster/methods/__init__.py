"""Clustering methods, one file each: the folder is the registry.

A file defines a class with the options (`Method`) and a public function of the method's name. Nothing else lists the
methods: the command line, sweeps, tests and docs read `CLASSES` and `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable

from headatlas import registry
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.method import Method

DEFAULT = "tree"

_methods = registry.methods(__name__, Method, first=DEFAULT)
CLASSES: dict[str, type[Method]] = {name: method for name, (method, _) in _methods.items()}
METHODS: dict[str, Callable[..., Labels]] = {name: function for name, (_, function) in _methods.items()}
