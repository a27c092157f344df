"""Folders that are registries: what a package offers is what the files in its folder define."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def modules(package: str, first: str = "") -> list[ModuleType]:
    """The modules in the folder of a package by name, but for `first`, which comes first.

    >>> [module.__name__ for module in modules("headatlas.data.readers", first="squad")][:2]
    ['headatlas.data.readers.squad', 'headatlas.data.readers.arrow']
    """
    files = pkgutil.iter_modules(importlib.import_module(package).__path__)
    names = sorted((file.name for file in files), key=lambda name: (name != first, name))
    return [importlib.import_module(f"{package}.{name}") for name in names]


def methods(package: str, base: type[Any], first: str) -> dict[str, tuple[Any, Any]]:
    """The subclasses of `base` in a folder by their attribute `name`, each with the function of that name beside it."""
    classes: dict[str, tuple[Any, Any]] = {}
    for module in modules(package, first):
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__:
                name = str(vars(item)["name"])
                classes[name] = item, getattr(module, name)
    return classes
