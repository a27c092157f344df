"""Readers, a file for each family of formats: the folder is the registry.

A file defines `READERS`, a tuple with a `Reader` for each form of name. Nothing else lists them: `load`, its errors,
the help of the command line, the docs and the tests read the `READERS` of this package.
"""

from headatlas import registry
from headatlas.data.reader import Reader

__all__ = ["READERS", "forms"]


def _order(reader: Reader) -> tuple[bool, bool, str]:
    """Whole names come first, then ends of file names, then prefixes."""
    return reader.name.endswith(":"), reader.name.startswith("."), reader.name


_declared: list[Reader] = [reader for module in registry.modules(__name__) for reader in module.READERS]
READERS = {reader.name: reader for reader in sorted(_declared, key=_order)}


def forms() -> str:
    """Every form a name can have.

    >>> forms()
    'sample, sample:questions, FILE..., squad:FILE'
    """
    return ", ".join(reader.form for reader in READERS.values())
