"""Shapes: functions from local coordinates (right, down) to the distance from the edge, negative inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headatlas.data.drawings.canvas import Field

__all__ = ["SHAPES", "box", "disk", "triangle"]

Shape = Callable[[Field, Field], Field]


def disk(u: Field, v: Field) -> Field:
    """A filled circle."""
    distance: Field = np.hypot(u, v) - np.float32(1)
    return distance


def box(u: Field, v: Field, width: float = 0.8, height: float = 0.8) -> Field:
    """A rectangle, given half of its width and height."""
    distance: Field = np.maximum(np.abs(u) - np.float32(width), np.abs(v) - np.float32(height))
    return distance


def triangle(u: Field, v: Field) -> Field:
    """A triangle that points up."""
    distance: Field = np.maximum(v - np.float32(0.6), np.float32(0.867) * np.abs(u) - np.float32(0.498) * (v + 1))
    return distance


def _ring(u: Field, v: Field) -> Field:
    distance: Field = np.abs(np.hypot(u, v) - np.float32(0.76)) - np.float32(0.24)
    return distance


def _star(u: Field, v: Field) -> Field:
    """Five points: the plane is folded into a sector of 36 degrees, in which the edge is one line."""
    sector = np.float32(2 * np.pi / 5)
    angle = np.arctan2(u, -v)
    folded = np.abs(angle - sector * np.rint(angle / sector))
    radius = np.hypot(u, v)
    inner = np.float32(0.42) * np.array([np.cos(np.pi / 5), np.sin(np.pi / 5)], np.float32)
    normal = np.array([inner[1], 1 - inner[0]], np.float32) / np.hypot(inner[1], 1 - inner[0])
    distance: Field = (radius * np.cos(folded) - 1) * normal[0] + radius * np.sin(folded) * normal[1]
    return distance


def _cross(u: Field, v: Field) -> Field:
    return np.minimum(box(u, v, 0.3, 1.0), box(u, v, 1.0, 0.3))


def _crescent(u: Field, v: Field) -> Field:
    distance: Field = np.maximum(disk(u, v), np.float32(0.78) - np.hypot(u - np.float32(0.5), v))
    return distance


def _heart(u: Field, v: Field) -> Field:
    """Two disks above a wedge whose sides touch them."""
    side = np.abs(u)
    lobes = np.hypot(side - np.float32(0.45), v + np.float32(0.35)) - np.float32(0.53)
    wedge = np.maximum(
        np.float32(0.76) * side + np.float32(0.65) * v - np.float32(0.64),
        -np.float32(0.35) - v - np.float32(0.1) * side,
    )
    distance: Field = np.minimum(lobes, wedge)
    return distance


SHAPES: dict[str, Shape] = {
    "disk": disk,
    "ring": _ring,
    "square": box,
    "triangle": triangle,
    "star": _star,
    "cross": _cross,
    "crescent": _crescent,
    "heart": _heart,
}
