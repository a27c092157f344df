"""Layouts of one text rotated and mirrored into a common orientation; distances within a layout stay what they are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name", bound=Hashable)
Layout = NDArray[np.float32]

ROUNDS = 5


def align(layouts: Mapping[Name, Layout]) -> dict[Name, Layout]:
    """Center all layouts and rotate them to their common mean shape, in which the text runs to the right.

    >>> line = np.array([[0, 0], [0, 1], [0, 2]], np.float32)  # upwards, and to the left
    >>> align({"up": line, "left": -line[:, ::-1]})["left"].round(3).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]

    The mean shape is found by rotating all layouts, each scaled to unit size, to the mean of all, a few times over.
    Nothing is scaled in the result.

    Parameters
    ----------
    layouts
        Layouts (point, axis) of the same points by name. One with NaN is left as it is.

    Returns
    -------
    dict
        The rotated layouts by name.
    """
    centered = {
        name: _centered(layout) for name, layout in layouts.items() if len(layout) and np.isfinite(layout).all()
    }
    if not centered:
        return dict(layouts)
    unit = {name: layout / max(float(np.linalg.norm(layout)), 1e-12) for name, layout in centered.items()}
    mean = _upright(next(iter(unit.values())))
    for _ in range(ROUNDS):
        mean = _upright(np.mean([layout @ rotation(layout, mean) for layout in unit.values()], 0))
    rotated = {name: (centered[name] @ rotation(unit[name], mean)).astype(np.float32) for name in centered}
    return {name: rotated.get(name, layout) for name, layout in layouts.items()}


def rotation(layout: NDArray[Any], reference: NDArray[Any]) -> NDArray[np.float64]:
    """The rotation or reflection (2, 2) that brings a centered layout nearest to a centered reference (Procrustes)."""
    left, _, right = np.linalg.svd(layout.astype(np.float64).T @ reference.astype(np.float64))
    rotated: NDArray[np.float64] = left @ right
    return rotated


def _centered(layout: Layout) -> NDArray[np.float64]:
    centered: NDArray[np.float64] = layout.astype(np.float64) - layout.astype(np.float64).mean(0)
    return centered


def _upright(shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """A centered shape rotated so that later tokens lie further right, mirrored so that the middle lies above."""
    order = np.arange(len(shape)) - (len(shape) - 1) / 2
    along = order @ shape
    size = float(np.linalg.norm(along))
    if size < 1e-12:
        return shape
    cosine, sine = along / size
    rotated: NDArray[np.float64] = shape @ np.array([[cosine, -sine], [sine, cosine]])
    if (np.abs(order) @ rotated)[1] > 0:  # the ends lie above: mirror
        rotated = rotated * [1, -1]
    return rotated
