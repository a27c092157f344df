"""A small canvas: regions are painted on it in colors, with smooth edges; and the random choices of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLORS", "SIDE", "Canvas", "Chance", "Color", "Field", "Place"]

SIDE = 64  # pixels
COLORS = {
    "red": (0.86, 0.15, 0.15), "orange": (0.95, 0.55, 0.10), "yellow": (0.96, 0.87, 0.20), "green": (0.18, 0.62, 0.22),
    "cyan": (0.15, 0.75, 0.80), "blue": (0.15, 0.30, 0.85), "purple": (0.55, 0.20, 0.75), "pink": (0.96, 0.50, 0.70),
    "white": (0.97, 0.97, 0.97), "black": (0.06, 0.06, 0.06),
}  # fmt: skip

Field = NDArray[np.float32]  # a value per pixel
Color = NDArray[np.float32]  # red, green, blue from 0 to 1
Item = TypeVar("Item")

ROWS, COLUMNS = (axis.astype(np.float32) + np.float32(0.5) for axis in np.mgrid[:SIDE, :SIDE])  # centers of pixels


class Chance:
    """Random choices of one picture, all made from uniform numbers, whose stream no version of numpy changes."""

    def __init__(self, *key: int) -> None:
        self._uniform = np.random.Generator(np.random.PCG64(key)).random

    def between(self, low: float, high: float) -> float:
        """A number."""
        return low + (high - low) * float(self._uniform())

    def count(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._uniform() * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """Whether something happens."""
        return float(self._uniform()) < probability

    def choose(self, items: Sequence[Item]) -> Item:
        """One of these."""
        return items[int(self._uniform() * len(items))]

    def field(self, *shape: int) -> Field:
        """Numbers from -1 to 1."""
        return (2 * self._uniform(shape) - 1).astype(np.float32)

    def order(self, count: int) -> list[int]:
        """The numbers up to `count` in random order."""
        return [int(number) for number in np.argsort(self._uniform(count), kind="stable")]

    def color(self, name: str, spread: float = 0.08) -> Color:
        """A color of this name."""
        color: Color = np.clip(np.array(COLORS[name]) + spread * self.field(3), 0, 1).astype(np.float32)
        return color


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is drawn: its center in pixels, its radius, and its angle in radians."""

    x: float
    y: float
    radius: float
    angle: float = 0.0

    def local(self) -> tuple[Field, Field]:
        """Coordinates of every pixel, right and down, in which the circle around the place has radius 1."""
        right, down = (COLUMNS - np.float32(self.x)), (ROWS - np.float32(self.y))
        sine, cosine = np.float32(np.sin(self.angle)), np.float32(np.cos(self.angle))
        scale = np.float32(1 / self.radius)
        return (cosine * right + sine * down) * scale, (cosine * down - sine * right) * scale

    def part(self, right: float, down: float, radius: float) -> Place:
        """The place of a part, given in local coordinates."""
        sine, cosine = np.sin(self.angle), np.cos(self.angle)
        x, y = cosine * right - sine * down, sine * right + cosine * down
        return Place(self.x + x * self.radius, self.y + y * self.radius, radius * self.radius, self.angle)

    def cover(self, distance: Field) -> Field:
        """The share of each pixel inside a region, given the local distance of its center from the edge."""
        share: Field = np.clip(np.float32(0.5) - distance * np.float32(self.radius), 0, 1)
        return share


class Canvas:
    """A picture under way, and which pixels show what it is a picture of."""

    def __init__(self, color: Color) -> None:
        self.pixels = np.tile(color, (SIDE, SIDE, 1)).astype(np.float32)  # (row, column, color)
        self.subject: Field = np.zeros((SIDE, SIDE), np.float32)

    def paint(self, cover: Field, color: Color, *, subject: bool = True) -> None:
        """Paint where `cover` is 1, and mix where it is between 0 and 1."""
        self.pixels += cover[..., None] * (color - self.pixels)
        self.subject = np.maximum(self.subject, cover) if subject else self.subject * (1 - cover)

    def finish(self, noise: Field) -> NDArray[np.uint8]:
        """The pixels with noise (row, column, color) added, as bytes."""
        pixels: NDArray[np.uint8] = np.rint(np.clip(self.pixels + noise, 0, 1) * 255).astype(np.uint8)
        return pixels
