"""Whether collections can be compared: the same data, the same examples, and the same tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from headatlas.atlas.store import Atlas
from headatlas.compare.compared import Collection, Compared, same_heads
from headatlas.errors import OptionError

EXAMPLE = ("id", "window")  # what identifies an example
TOKEN = ("example", "target", "id")


def check_settings(compared: Compared) -> None:
    """Raise an error if data, resolution or number of examples differ; reads no table."""
    for other in [*compared.steps, *compared.noise]:
        _check_data(compared.first, other)
        sizes = [each.atlas.array("pooled").shape[-1] for each in (compared.first, other)]
        if sizes[0] != sizes[1]:
            raise OptionError(
                f"{_pair(compared.first, other)} have maps of different resolution, {sizes[0]} and {sizes[1]}. "
                f"Collect one of them again with --resolution {sizes[0]}"
            )
    last = compared.last
    for seed in compared.noise:
        if not same_heads(last, seed):
            raise OptionError(f"--noise {seed.name}: its heads are not those of {last.name}. Give other seeds of it")
        if seed.atlas.header["model"]["hash"] == last.atlas.header["model"]["hash"]:
            raise OptionError(f"--noise {seed.name}: it has the weights of {last.name}. Give a model of another seed")


def _check_data(first: Collection, other: Collection) -> None:
    data = [each.atlas.header["data"] for each in (first, other)]
    if data[0]["fingerprint"] != data[1]["fingerprint"]:
        names = f"{data[0]['name']} and {data[1]['name']}"
        same = ", whose contents or limits differ" if data[0]["name"] == data[1]["name"] else ""
        raise OptionError(
            f"{_pair(first, other)} are of different data: {names}{same}. Collect both models on the same dataset"
        )


def check_examples(compared: Compared) -> None:
    """Raise an error if the examples of two collections are not the same texts, or windows of them."""
    for other in [*compared.steps, *compared.noise]:
        counts = [each.atlas.collection["counts"]["examples"] for each in (compared.first, other)]
        if counts[0] != counts[1]:
            raise OptionError(
                f"{_pair(compared.first, other)} have {counts[0]:,} and {counts[1]:,} examples: {_windows()}"
            )
        number = _first_difference(compared.first.atlas, other.atlas, "examples", EXAMPLE)
        if number is not None:
            raise OptionError(
                f"{_pair(compared.first, other)} differ in row {number:,} of the table examples: {_windows()}"
            )


def has_same_tokens(first: Collection, other: Collection) -> bool:
    """Whether two models read the same tokens."""
    if "tokens" not in first.atlas.tables() or "tokens" not in other.atlas.tables():
        return True
    return _first_difference(first.atlas, other.atlas, "tokens", TOKEN) is None


def check_tokens(first: Collection, other: Collection) -> None:
    """Raise an error if two models of one shape did not read the same tokens."""
    if not has_same_tokens(first, other):
        raise OptionError(
            f"{_pair(first, other)} have different tokens. Collect both with one tokenizer and the same --max-tokens, "
            "or compare heads by what they do, with --match function"
        )


def _pair(first: Collection, other: Collection) -> str:
    return f"{first.atlas.files.url} and {other.atlas.files.url}"


def _windows() -> str:
    return "long texts were cut differently. Collect both with the same --max-tokens and --overlong"


def _first_difference(first_atlas: Atlas, other_atlas: Atlas, table: str, columns: tuple[str, ...]) -> int | None:
    """The first row in which two tables differ, a part at a time; columns that neither has are left out."""
    names = [[name for name in columns if name in atlas.table_columns(table)] for atlas in (first_atlas, other_atlas)]
    if names[0] != names[1]:
        return 0
    parts = [_rows(atlas.table_parts(table, names[0]), names[0]) for atlas in (first_atlas, other_atlas)]
    row = 0
    for first, second in zip_longest(*parts):
        if first is None or second is None:
            return row
        if first.num_rows != second.num_rows:
            return row + int(min(first.num_rows, second.num_rows))
        if not first.equals(second):
            return row + _row_of_difference(first, second)
        row += first.num_rows
    return None


def _rows(parts: Iterator[pa.Table], names: list[str]) -> Iterator[pa.Table]:
    for part in parts:
        yield part.select(names).combine_chunks()


def _row_of_difference(first: pa.Table, second: pa.Table) -> int:
    differs = np.zeros(first.num_rows, bool)
    for name in first.column_names:
        columns = [np.array(table[name].to_pylist(), object) for table in (first, second)]
        differs |= columns[0] != columns[1]
    return int(differs.argmax())
