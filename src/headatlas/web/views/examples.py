"""Examples: the list of all, and one with its tokens, its image and its pooled maps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from headatlas.atlas.computed_columns import computed_columns, computed_values
from headatlas.atlas.groups import group_column, read_groups
from headatlas.data import pictures
from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.examples import Computed, ComputedColumn, Example, Examples, Texts, Token
from headatlas.web.views import example_table
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import of_example

EXCERPT = 160  # characters of a text, or of a column, in the list
SIDE, SMALL = 1024, 128  # largest width and height of an image in pixels, and of one in a list


def listed(snapshot: Snapshot) -> Examples:
    """All examples, column by column."""
    table = example_table.table(snapshot)
    columns = {
        name: [_shortened(example_table.cell(value)) for value in table[name].to_pylist()]
        for name in example_table.dataset_columns(snapshot)
    }
    texts = example_table.texts(snapshot, "text")
    return Examples(
        id=[str(identifier) for identifier in table["id"].to_pylist()],
        excerpt=[str(_shortened(" ".join((text or "").split()))) for text in texts],
        n_tokens=example_table.integers(snapshot, "n_tokens", 0),
        n_target=example_table.integers(snapshot, "n_target", 0),
        window=example_table.integers(snapshot, "window", 0),
        windows=example_table.integers(snapshot, "windows", 1),
        columns=columns,
    )


def _shortened(value: example_table.Cell) -> example_table.Cell:
    """The start of a text."""
    return value[: EXCERPT - 1] + "…" if isinstance(value, str) and len(value) > EXCERPT else value


def texts(snapshot: Snapshot) -> Texts:
    """The full text of every example, the second text of a pair on the next line."""
    pairs = zip(example_table.texts(snapshot, "text"), example_table.texts(snapshot, "pair"), strict=True)
    return Texts(text=["\n".join(part for part in pair if part) for pair in pairs])


def computed(snapshot: Snapshot) -> Computed:
    """Columns computed from the texts, and the sources of the examples."""
    return snapshot.cached("computed", lambda: _computed(snapshot))


def _computed(snapshot: Snapshot) -> Computed:
    columns = computed_columns(snapshot.atlas)
    values = computed_values(snapshot.atlas, columns)
    groups = read_groups(snapshot.atlas, group_column(snapshot.atlas, None))
    return Computed(
        columns=[
            ComputedColumn(
                name=column.name, label=column.label, definition=column.definition,
                values=[example_table.cell(value) for value in values[column.name]],
            )
            for column in columns
        ],
        group=groups.number.tolist(),
        group_column=groups.column,
    )  # fmt: skip


def example(snapshot: Snapshot, example: int) -> Example:
    """One example."""
    snapshot.check_map(example)
    row = _row(snapshot, example)
    source, target = tokens(snapshot, example)
    return Example(
        example=example,
        key=None,
        id=str(row["id"]),
        text=row.get("text") or "",
        pair=row.get("pair"),
        window=row.get("window") or 0,
        windows=row.get("windows") or 1,
        cut=row.get("cut") or 0,
        columns=example_table.cells(snapshot, example),
        tokens=source,
        target=target,
        image=bool(row.get("image")),
        pooled=snapshot.has_pooled_maps(example),
        full=snapshot.has_full_maps(example),
        tsne=snapshot.has_tsne(example),
        vectors=snapshot.has_vectors(example),
        note=_note(snapshot, example),
    )


def _note(snapshot: Snapshot, example: int) -> str:
    """Why there are no full maps, if there are none."""
    if snapshot.has_full_maps(example):
        return ""
    if snapshot.exported is None:
        return snapshot.live_note
    count = len(snapshot.exported.full)
    return f"This page holds full maps of {count} examples." if count else "This page holds no full maps."


def _row(snapshot: Snapshot, example: int) -> dict[str, Any]:
    rows = example_table.rows(snapshot, "examples", example)
    if not rows:
        raise RequestError(404, f"The table of examples has no example {example}.")
    return rows[0]


def tokens(snapshot: Snapshot, example: int) -> tuple[list[Token], list[Token]]:
    """The tokens of an example, and those of its target."""
    if not snapshot.atlas.files.exists("tokens.parquet"):
        return [], []
    parts: tuple[list[Token], list[Token]] = ([], [])
    for row in example_table.rows(snapshot, "tokens", example):
        parts[bool(row.get("target"))].append(
            Token(text=row["text"], word=row.get("word", -1), special=row["special"], segment=row.get("segment", 0))
        )
    return parts


def pooled(snapshot: Snapshot, example: int) -> bytes:
    """All pooled maps of an example."""
    snapshot.check_map(example)
    return arrays.attention(of_example(snapshot, "pooled", example)).tobytes()


def pooled_map(snapshot: Snapshot, example: int, layer: int, head: int) -> bytes:
    """One pooled map."""
    snapshot.check_map(example, layer, head)
    return arrays.attention(snapshot.atlas.read("pooled", (example, layer, head))).tobytes()


def image(snapshot: Snapshot, example: int) -> bytes:
    """The image of an example, encoded again: never the file itself, which may hold hidden data."""
    return _image(snapshot, example, SIDE)


def thumbnail(snapshot: Snapshot, example: int) -> bytes:
    """The same for lists."""
    return _image(snapshot, example, SMALL)


def _image(snapshot: Snapshot, example: int, side: int) -> bytes:
    snapshot.check_map(example)
    path = _row(snapshot, example).get("image")
    if not path:
        raise RequestError(404, f"Example {example} is a text and has no image.")
    grid = snapshot.atlas.header["model"].get("grid") or {}
    return encoded_again(path, pictures.Crop(**grid["crop"]) if grid.get("crop") else None, side)


def encoded_again(path: str, crop: pictures.Crop | None = None, side: int = SIDE) -> bytes:
    """An image as PNG, as a model reads it: what it sees of it, the longer side at most `side` pixels."""
    from PIL import Image

    out, name = io.BytesIO(), Path(path).name
    try:
        small = pictures.read(path, most=2 * side)
        small = small.crop(crop.box(*small.size)) if crop else small
        small.thumbnail((side, side))
        Image.frombytes(small.mode, small.size, small.tobytes()).save(out, "PNG")
    except FileNotFoundError as error:
        raise RequestError(
            404, f"The image {name} is no longer where it was when the atlas was made.", "Put it back."
        ) from error
    except Exception as error:  # each format of PIL raises its own errors for damaged files
        raise RequestError(404, f"The image {name} cannot be read: {type(error).__name__}.") from error
    return out.getvalue()
