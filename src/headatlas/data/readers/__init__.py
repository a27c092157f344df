"""Readers, a file for each family of formats: the folder is the registry.

A file defines `READERS`, a tuple with a `Reader` for each form of name. Nothing else lists them: `load`, its errors,
the help of the command line, the docs and the tests read the `READERS` of this package.
"""

import importlib
import pkgutil
from collections.abc import Iterator

from headatlas.data.reader import Reader

__all__ = ["READERS", "forms"]


def _readers() -> Iterator[Reader]:
    for file in pkgutil.iter_modules(__path__):
        yield from importlib.import_module(f"{__name__}.{file.name}").READERS


def _order(reader: Reader) -> tuple[bool, bool, str]:
    """Whole names come first, then ends of file names, then prefixes."""
    return reader.name.endswith(":"), reader.name.startswith("."), reader.name


READERS: dict[str, Reader] = {reader.name: reader for reader in sorted(_readers(), key=_order)}


def forms() -> str:
    """Every form a name can have.

    >>> forms()
    'sample, sample:questions, FILE..., squad:FILE'
    """
    return ", ".join(reader.form for reader in READERS.values())
