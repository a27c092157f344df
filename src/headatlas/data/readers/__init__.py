"""Readers, one file per family of formats: the folder is the registry.

Each file defines `READERS`, a tuple with one `Reader` per form of name. Nothing else lists them: `load`, its errors,
the help of the command line, the docs and the tests use the `READERS` of this package.
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
    """Every form that a name can have.

    >>> forms()
    'sample, sample:images, sample:questions, FILE..., squad:FILE'
    """
    return ", ".join(reader.form for reader in READERS.values())
