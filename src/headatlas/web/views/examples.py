"""Examples: the list of all, and one with its tokens, its picture and its pooled maps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from headatlas.atlas.blocks import block_size
from headatlas.web.api import encoding
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Example, Examples, Texts, Token
from headatlas.web.views import example_table
from headatlas.web.views.site import View

EXCERPT = 160  # characters of a text, or of a column, in the list
SIDE = 1024  # pixels of a picture at most
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "ICO", "TGA", "PCX", "AVIF", "JPEG2000", "MPO")


def listed(view: View) -> Examples:
    """All examples, column by column."""
    there = example_table.there(view)
    columns = {
        name: [_short(example_table.cell(value)) for value in there[name].to_pylist()]
        for name in example_table.own(view)
    }
    return Examples(
        id=[str(one) for one in there["id"].to_pylist()],
        excerpt=[str(_short(" ".join((text or "").split()))) for text in example_table.texts(view, "text")],
        n_tokens=example_table.numbers(view, "n_tokens", 0),
        n_target=example_table.numbers(view, "n_target", 0),
        window=example_table.numbers(view, "window", 0),
        windows=example_table.numbers(view, "windows", 1),
        columns=columns,
    )


def _short(value: example_table.Cell) -> example_table.Cell:
    """The beginning of a text."""
    return value[: EXCERPT - 1] + "…" if isinstance(value, str) and len(value) > EXCERPT else value


def texts(view: View) -> Texts:
    """The full text of every example, a pair on the next line."""
    pairs = zip(example_table.texts(view, "text"), example_table.texts(view, "pair"), strict=True)
    return Texts(text=["\n".join(part for part in pair if part) for pair in pairs])


def example(view: View, number: int) -> Example:
    """One example."""
    view.check(number)
    row = _row(view, number)
    full, note = _full(view, number)
    own = view.pages is None or number in view.pages
    source, target = tokens(view, number)
    return Example(
        example=number,
        id=str(row["id"]),
        text=row.get("text") or "",
        pair=row.get("pair"),
        window=row.get("window") or 0,
        windows=row.get("windows") or 1,
        cut=row.get("cut") or 0,
        columns={name: example_table.cell(row[name]) for name in example_table.own(view)},
        tokens=source,
        target=target,
        image=f"api/examples/{number}/image.png" if row.get("image") else None,
        pooled=f"api/examples/{number}/pooled.bin" if own else None,
        full=full,
        tsne=f"api/examples/{number}/tsne.json" if (number in view.laid if view.static else view.live) else None,
        note=note,
    )


def _full(view: View, number: int) -> tuple[str | None, str]:
    """Where full maps are, or why they are not."""
    if number in view.full if view.static else view.live:
        return f"api/examples/{number}/full/LAYER.HEAD.bin", ""
    if not view.static:
        return None, view.note
    count = len(view.full)
    return None, f"This page holds full maps of {count} examples." if count else "This page holds no full maps."


def _row(view: View, number: int) -> dict[str, Any]:
    found = example_table.rows(view, "examples", number)
    if not found:
        raise Problem(404, f"The table of examples has no example {number}.")
    return found[0]


def tokens(view: View, number: int) -> tuple[list[Token], list[Token]]:
    """The tokens of an example, and those of its target."""
    if not view.atlas.files.exists("tokens.parquet"):
        return [], []
    rows = example_table.rows(view, "tokens", number)
    parts: tuple[list[Token], list[Token]] = ([], [])
    for row in rows:
        parts[bool(row.get("target"))].append(
            Token(
                text=row["text"], word=row.get("word", -1), special=row["special"], segment=row.get("segment", 0),
            )
        )  # fmt: skip
    return parts


def pooled(view: View, number: int) -> bytes:
    """All pooled maps of an example."""
    view.check(number)
    array = view.atlas.array("pooled")
    block = block_size(array)  # it is unpacked as a whole, so it is kept
    start, maps = view.near("pooled", number, block, lambda start, stop: view.atlas.read("pooled", slice(start, stop)))
    return encoding.attention(maps[number - start]).tobytes()


def pooled_map(view: View, number: int, layer: int, head: int) -> bytes:
    """One pooled map."""
    view.check(number, layer, head)
    return encoding.attention(view.atlas.read("pooled", (number, layer, head))).tobytes()


def picture(view: View, number: int) -> bytes:
    """The picture of an example, made anew: never the file itself, nor what may be hidden in it."""
    view.check(number)
    path = _row(view, number).get("image")
    if not path:
        raise Problem(404, f"Example {number} is a text and has no picture.")
    return redrawn(Path(path))


def redrawn(path: Path) -> bytes:
    """A picture as PNG, its longer side at most 1,024 pixels."""
    from PIL import Image

    if not path.is_file():
        raise Problem(404, f"The picture {path.name} is not where it was when the atlas was made.", "Put it back.")
    out = io.BytesIO()
    Image.init()
    try:
        with Image.open(path, formats=[one for one in FORMATS if one in Image.OPEN]) as image:
            image.draft("RGB", (SIDE, SIDE))
            small = image.convert("RGBA" if "transparency" in image.info or image.mode in ("RGBA", "LA") else "RGB")
        small.thumbnail((SIDE, SIDE))
        Image.frombytes(small.mode, small.size, small.tobytes()).save(out, "PNG")
    except Exception as error:  # each format of PIL has its own errors for damaged files
        raise Problem(404, f"The picture {path.name} cannot be read: {type(error).__name__}.") from error
    return out.getvalue()
