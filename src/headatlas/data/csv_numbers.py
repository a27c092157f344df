"""Numbers of CSV files that a float would change: pyarrow reads an integer beyond 64 bits, or in a column of decimals,
as a float, which keeps 15 digits. Such a column stays text, as it is written in the file."""

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["float_columns", "numbers"]

LONG = r"^[-+]?\d{16,}$"  # a float holds every integer of 15 digits


def float_columns(schema: Any) -> list[str]:
    """Names of the columns that pyarrow would read as floats."""
    import pyarrow

    return [field.name for field in schema if pyarrow.types.is_floating(field.type)]


def numbers(batches: Iterable[Any], columns: list[str], nulls: list[str]) -> Iterator[Any]:
    """Batches whose text columns become floats, but for those with an integer that has too many digits."""
    for batch in batches:
        for place, name in enumerate(batch.schema.names):
            if name in columns:
                batch = batch.set_column(place, name, _converted(batch.column(place), nulls))
        yield batch


def _converted(texts: Any, nulls: list[str]) -> Any:
    import pyarrow
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim(texts, " \t")
    known = pc.if_else(pc.is_in(trimmed, pyarrow.array(nulls)), None, trimmed)
    if pc.any(pc.match_substring_regex(known, LONG)).as_py():
        return known
    return pc.cast(known, pyarrow.float64())
