"""Brightness and hue of the patches of images, as the model sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.store import Atlas
from headatlas.errors import HeadatlasError

Floats = NDArray[np.float32]

NAMES = ("brightness", "hue")


def patch_colors(
    atlas: Atlas, examples: NDArray[np.int64], place: NDArray[np.int64], tokens: Mapping[str, NDArray[Any]]
) -> dict[str, Floats]:
    """Columns `brightness` and `hue` of tokens; NaN for special tokens, and where images or the model are gone."""
    try:
        colors = _colors(atlas, examples)
    except HeadatlasError as error:
        progress.say(f"without the colors of patches: {error}")
        return dict.fromkeys(NAMES, np.full(len(place), np.nan, np.float32))
    patch = tokens["row"] * atlas.header["model"]["grid"]["columns"] + tokens["column"]
    values = colors[place, :, np.maximum(patch, 0)]  # (token, name)
    values[tokens["row"] < 0] = np.nan
    return dict(zip(NAMES, values.T, strict=True))


def _colors(atlas: Atlas, examples: NDArray[np.int64]) -> Floats:
    """Brightness and hue (example, name, patch) of what the model is given."""
    from headatlas.atlas.model import load_model
    from headatlas.atlas.tokens import read_image_paths
    from headatlas.models import patches
    from headatlas.models.batch import image_batch

    model, colors = load_model(atlas), []
    assert model.grid is not None  # set for every model that reads images
    for path in read_image_paths(atlas, examples.tolist()):
        pixels = image_batch(model, [path]).inputs["pixel_values"][0].numpy()
        colors.append(patches.patch_colors(patches.shown_pixels(model.processor, pixels), model.grid))
    return np.array(colors)
