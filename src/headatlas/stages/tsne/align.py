"""Layouts of one text turned and mirrored into a common orientation; distances within a layout stay what they are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name", bound=Hashable)
Layout = NDArray[np.float32]

ROUNDS = 5


def rotation(layout: NDArray[Any], reference: NDArray[Any]) -> NDArray[np.float64]:
    """The rotation or reflection (2, 2) that brings a centred layout nearest to a centred reference (Procrustes)."""
    left, _, right = np.linalg.svd(layout.astype(np.float64).T @ reference.astype(np.float64))
    turned: NDArray[np.float64] = left @ right
    return turned


def align(layouts: Mapping[Name, Layout]) -> dict[Name, Layout]:
    """All layouts centred and turned to their common mean shape, which is itself turned so that text runs to the right.

    Layouts are (point, axis) with the same points; one with NaN is left as it is. The mean shape is found by turning
    all layouts, each scaled to unit size, to the mean of all, a few times over. Nothing is scaled in the result.
    """
    known = {name: _centred(one) for name, one in layouts.items() if len(one) and np.isfinite(one).all()}
    if not known:
        return dict(layouts)
    unit = {name: one / max(float(np.linalg.norm(one)), 1e-12) for name, one in known.items()}
    mean = _upright(next(iter(unit.values())))
    for _ in range(ROUNDS):
        mean = _upright(np.mean([one @ rotation(one, mean) for one in unit.values()], 0))
    turned = {name: (known[name] @ rotation(unit[name], mean)).astype(np.float32) for name in known}
    return {name: turned.get(name, one) for name, one in layouts.items()}


def _centred(layout: Layout) -> NDArray[np.float64]:
    centred: NDArray[np.float64] = layout.astype(np.float64) - layout.astype(np.float64).mean(0)
    return centred


def _upright(shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """A centred shape turned so that the later a token the further right, mirrored so that the middle lies above."""
    order = np.arange(len(shape)) - (len(shape) - 1) / 2
    along = order @ shape
    size = float(np.linalg.norm(along))
    if size < 1e-12:
        return shape
    cosine, sine = along / size
    turned: NDArray[np.float64] = shape @ np.array([[cosine, -sine], [sine, cosine]])
    if (np.abs(order) @ turned)[1] > 0:  # the ends lie above: mirror
        turned = turned * [1, -1]
    return turned
