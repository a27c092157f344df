"""Patches of a picture: which part of it a model sees, and the color of each patch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.data.pictures import Crop
from headatlas.models.model import Grid

GRAY = 0.02  # difference of the strongest and the weakest of red, green and blue up to which a color has no hue

Floats = NDArray[np.float32]


def crop_of(processor: Any) -> Crop | None:
    """What an image processor cuts off, None if nothing: many scale a picture and keep its middle."""
    if not (getattr(processor, "do_center_crop", None) and processor.do_resize):
        return None
    size, kept = dict(processor.size), dict(processor.crop_size)
    sides = (size.get("shortest_edge") or size.get("height"), size.get("shortest_edge") or size.get("width"))
    if not all(sides):
        return None
    rows, columns = (kept[name] / side for name, side in zip(("height", "width"), sides, strict=True))
    crop = Crop(rows, columns, of_shorter="shortest_edge" in size)
    return None if crop == Crop(1.0, 1.0) else crop


def shown_pixels(processor: Any, pixels: NDArray[Any]) -> Floats:
    """What a model sees (color, row, column), as colors from 0 to 1 (row, column, color): normalizing is undone."""
    colors = np.asarray(pixels, np.float32).transpose(1, 2, 0)
    if getattr(processor, "do_normalize", False):
        colors = colors * np.asarray(processor.image_std) + np.asarray(processor.image_mean)
    return np.clip(colors, 0, 1).astype(np.float32)


def patch_colors(pixels: Floats, grid: Grid) -> tuple[Floats, Floats]:
    """Mean brightness (0 to 1) and hue of the mean color (degrees) of each patch, row by row.

    `pixels` (row, column, color) are from 0 to 1, as `shown_pixels` gives them. What is gray has no hue: NaN.

    >>> pixels = np.zeros((2, 4, 3), np.float32)
    >>> pixels[:, :2, 1] = 0.75
    >>> patch_colors(pixels, Grid((), 1, 2))
    (array([0.25, 0.  ], dtype=float32), array([120.,  nan], dtype=float32))
    """
    tall, wide = pixels.shape[0] // grid.rows, pixels.shape[1] // grid.columns
    cells = pixels[: tall * grid.rows, : wide * grid.columns].reshape(grid.rows, tall, grid.columns, wide, -1)
    colors: Floats = cells.mean((1, 3)).reshape(grid.rows * grid.columns, -1)
    return colors.mean(1), hue(np.broadcast_to(colors, (len(colors), 3)))


def hue(colors: Floats) -> Floats:
    """Hue of colors (…, color), in degrees; NaN where they are gray.

    >>> hue(np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.2, 0.2, 0.2], [1.0, 0.0, 1.0]], np.float32)).tolist()
    [0.0, 120.0, nan, 300.0]
    """
    red, green, blue = np.moveaxis(colors, -1, 0)
    strongest, spread = colors.max(-1), np.ptp(colors, -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        sector = np.select(
            [strongest == red, strongest == green],
            [(green - blue) / spread % 6, (blue - red) / spread + 2],
            (red - green) / spread + 4,
        )
        return np.where(spread > GRAY, 60 * sector, np.nan).astype(np.float32)
