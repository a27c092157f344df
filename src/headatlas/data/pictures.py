"""Pictures by name: an image file, or a drawing, whose name is `sample:images/` and its number.

A picture is always read in the same way, for a model and for the page: upright, in color, and on white where it is
transparent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headatlas.errors import DataError

__all__ = ["FORMATS", "Crop", "drawing_name", "drawing_number", "fault", "read"]

DRAWINGS = "sample:images/"
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "ICO", "TGA", "PCX", "AVIF", "JPEG2000", "MPO")


@dataclass(frozen=True, slots=True)
class Crop:
    """The middle part of a picture that a model sees: shares of its height and width, or of its shorter side."""

    rows: float
    columns: float
    of_shorter: bool = False

    def box(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in a picture of this size; beyond it where the model sees padding.

        >>> Crop(0.5, 0.5, of_shorter=True).box(200, 100)
        (75, 25, 125, 75)
        """
        base = (min(width, height),) * 2 if self.of_shorter else (width, height)
        wide, tall = base[0] * self.columns, base[1] * self.rows
        left, top = (width - wide) / 2, (height - tall) / 2
        return round(left), round(top), round(left + wide), round(top + tall)


def drawing_name(number: int) -> str:
    """The name of the drawing with this number.

    >>> drawing_name(17)
    'sample:images/17'
    """
    return f"{DRAWINGS}{number}"


def drawing_number(name: str) -> int | None:
    """The number of a drawing; None for the path of a file.

    >>> drawing_number("sample:images/17"), drawing_number("photos/17.png")
    (17, None)
    """
    if not name.startswith(DRAWINGS):
        return None
    number = re.fullmatch(r"\d{1,9}", name.removeprefix(DRAWINGS), re.ASCII)
    if number is None:
        raise DataError(f"{name} is not a drawing. Use {DRAWINGS} and a number from 0 on, such as {drawing_name(17)}.")
    return int(number.group())


def read(name: str, most: int | None = None) -> Any:
    """A picture as a PIL image in RGB; with `most`, its longer side may be decoded at a smaller size, not below it.

    >>> read("sample:images/17").size
    (64, 64)
    """
    from PIL import Image, ImageOps

    number = drawing_number(name)
    if number is not None:
        from headatlas.data.drawings import draw

        return Image.fromarray(draw(number).pixels)
    Image.init()
    with Image.open(name, formats=[known for known in FORMATS if known in Image.OPEN]) as image:
        if most is not None:
            image.draft("RGB", (most, most))
        return _in_color(ImageOps.exif_transpose(image))


def _in_color(image: Any) -> Any:
    """An image in RGB, on white where it is transparent; gray values of 16 bits are scaled to 8."""
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if not image.has_transparency_data:
        return image.convert("RGB")
    opaque = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", opaque.size, "white"), opaque).convert("RGB")


def fault(name: str) -> str | None:
    """Why this cannot be used as a picture, or None.

    All pixels are decoded, since a truncated file still has a valid header.
    """
    from PIL import UnidentifiedImageError

    try:
        if drawing_number(name) is not None:
            return None
        if not Path(name).stat().st_size:
            return "zero bytes"
        read(name, most=1)  # a JPEG is decoded fastest at an eighth of its size; the pixels are not used here
    except DataError as error:
        return str(error)
    except UnidentifiedImageError:
        return "not an image"
    except FileNotFoundError:
        return "missing"
    except Exception as error:  # PIL raises different errors for each format
        return f"cannot be read as an image: {error}"
    return None
