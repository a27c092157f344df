"""Columns that follow from the texts of an atlas and are not stored with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headatlas.atlas.store import Atlas
from headatlas.data.text_columns import TEXT_COLUMNS, TextColumn, TextValue

TEXTS = ("text", "pair")


def computed_columns(atlas: Atlas) -> list[TextColumn]:
    """The columns that can be computed: none for images. A column of the dataset hides one of the same name."""
    stored = atlas.table_columns("examples")
    is_text = atlas.header["data"]["modality"] == "text"
    return [column for column in TEXT_COLUMNS if is_text and column.name not in stored]


def computed_values(
    atlas: Atlas, columns: Sequence[TextColumn], advance: Callable[[int], object] = lambda examples: None
) -> dict[str, list[TextValue]]:
    """The value of each column for the text of each example and its pair, a part of the table at a time."""
    values: dict[str, list[TextValue]] = {column.name: [] for column in columns}
    parts = [name for name in atlas.table_columns("examples") if name in TEXTS]
    for table in atlas.table_parts("examples", parts) if columns else ():
        texts = ["\n".join(filter(None, row.values())) for row in table.to_pylist()]
        for column in columns:
            values[column.name] += [column.compute(text) for text in texts]
        advance(len(texts))
    return values
