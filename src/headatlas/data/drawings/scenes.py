"""Scenes: one of a few things made of parts, in a landscape with other things."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headatlas.data.drawings.canvas import COLUMNS, ROWS, SIDE, Canvas, Chance, Color, Place
from headatlas.data.drawings.shapes import box, disk, triangle
from headatlas.data.drawings.textures import clouds

__all__ = ["SCENES", "landscape", "scene"]

WHITE, DARK, WOOD = np.array([(0.97, 0.97, 0.95), (0.10, 0.10, 0.13), (0.42, 0.27, 0.15)], np.float32)


def landscape(chance: Chance, water: bool) -> Canvas:
    """Sky above grass, sand or water."""
    horizon = chance.between(0.5, 0.72) * SIDE
    canvas = Canvas(chance.color(chance.choose(("cyan", "blue", "pink", "white")), 0.12) * 0.6 + 0.35)
    canvas.pixels *= (1.05 - 0.2 * ROWS / SIDE)[..., None]
    ground = chance.color("blue" if water else chance.choose(("green", "yellow", "orange")), 0.1) * 0.75
    below = np.clip(ROWS - horizon - chance.between(0, 3) * np.sin(COLUMNS / chance.between(6, 14)), 0, 1)
    canvas.paint(below.astype(np.float32), ground, subject=False)
    canvas.pixels += (below * (clouds(chance, 12) - 0.5) * 0.25)[..., None]
    return canvas


def distractors(canvas: Canvas, chance: Chance) -> int:
    """Sun, clouds and bushes, up to three of them."""
    count = chance.count(0, 3)
    for _ in range(count):
        x = chance.between(4, SIDE - 4)
        if chance.happens(0.4):
            _round(canvas, Place(x, chance.between(4, 16), chance.between(3, 6)), chance.color("yellow"))
        elif chance.happens(0.5):
            for step in (-1, 0, 1):
                _round(canvas, Place(x + 4 * step, chance.between(6, 12), chance.between(2.5, 4.5)), WHITE)
        else:
            _round(canvas, Place(x, chance.between(46, 60), chance.between(2, 4)), chance.color("green") * 0.7)
    return count


def scene(name: str, canvas: Canvas, chance: Chance, color: Color) -> tuple[Place, int]:
    """Draw a scene on its landscape; where the thing is, and how many things there are."""
    others = distractors(canvas, chance)
    radius = chance.between(13, 24)
    edge = radius * 0.8
    place = Place(
        chance.between(edge, SIDE - edge), chance.between(30, SIDE - edge), radius, chance.between(-0.12, 0.12)
    )
    _THINGS[name](canvas, chance, place, color)
    return place, others + 1


def _round(canvas: Canvas, place: Place, color: Color) -> None:
    canvas.paint(place.cover(disk(*place.local())), color, subject=False)


def _block(canvas: Canvas, place: Place, width: float, height: float, color: Color) -> None:
    canvas.paint(place.cover(box(*place.local(), width, height)), color)


def _disk(canvas: Canvas, place: Place, color: Color) -> None:
    canvas.paint(place.cover(disk(*place.local())), color)


def _point(canvas: Canvas, place: Place, color: Color) -> None:
    canvas.paint(place.cover(triangle(*place.local())), color)


def _house(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    _block(canvas, place.part(0, 0.3, 1), 0.62, 0.5, color)
    _point(canvas, place.part(0, -0.5, 0.85), chance.color(chance.choose(("red", "black", "orange"))))
    _block(canvas, place.part(0.25, 0.5, 1), 0.14, 0.3, WOOD)
    _block(canvas, place.part(-0.25, 0.2, 1), 0.15, 0.15, WHITE if color.mean() < 0.7 else DARK)


def _tree(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    _block(canvas, place.part(0, 0.5, 1), 0.13, 0.5, WOOD)
    if chance.happens(0.5):
        for down, radius in ((0.15, 0.75), (-0.2, 0.62), (-0.55, 0.48)):
            _point(canvas, place.part(0, down, radius), color)
        return
    for right, down in ((-0.3, -0.1), (0.3, -0.1), (0, -0.5)):
        _disk(canvas, place.part(right, down, 0.45), color)


def _boat(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    u, v = place.local()
    hull = np.maximum(np.maximum(np.float32(0.25) - v, v - np.float32(0.7)), (np.abs(u) - 1 + (v - 0.25) * 0.8) * 0.78)
    canvas.paint(place.cover(hull), WOOD if chance.happens(0.5) else DARK)
    _block(canvas, place.part(0, -0.3, 1), 0.06, 0.6, DARK)
    side = 1 if chance.happens(0.5) else -1
    sail = np.maximum(
        np.maximum(v - np.float32(0.12), -side * u + np.float32(0.1)), (side * u - (v + 0.9) * 0.75) * 0.8
    )
    canvas.paint(place.cover(sail.astype(np.float32)), color)


def _car(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    lean = 0.12 if chance.happens(0.5) else -0.12
    _block(canvas, place.part(lean, -0.22, 1), 0.5, 0.28, color)
    _block(canvas, place.part(lean, -0.2, 1), 0.38, 0.17, WHITE * 0.85)
    _block(canvas, place.part(0, 0.2, 1), 0.95, 0.24, color)
    for right in (-0.55, 0.55):
        _disk(canvas, place.part(right, 0.48, 0.24), DARK)
        _disk(canvas, place.part(right, 0.48, 0.1), WHITE * 0.7)


def _fish(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    side = 1 if chance.happens(0.5) else -1
    u, v = place.local()
    u = side * u
    body = (np.hypot((u + np.float32(0.15)) / np.float32(0.75), v / np.float32(0.42)) - 1) * np.float32(0.5)
    tail = np.maximum(np.maximum(np.float32(0.45) - u, u - np.float32(0.95)), np.abs(v) - (u - 0.4) * np.float32(0.9))
    canvas.paint(place.cover(np.minimum(body, tail).astype(np.float32)), color)
    _disk(canvas, place.part(-0.55 * side, -0.1, 0.12), WHITE)
    _disk(canvas, place.part(-0.57 * side, -0.1, 0.06), DARK)


def _flower(canvas: Canvas, chance: Chance, place: Place, color: Color) -> None:
    _block(canvas, place.part(0, 0.55, 1), 0.07, 0.5, chance.color("green") * 0.8)
    petals, turn = chance.count(5, 7), chance.between(0, 1)
    for number in range(petals):
        angle = 2 * np.pi * number / petals + turn
        _disk(canvas, place.part(0.38 * np.cos(angle), -0.3 + 0.38 * np.sin(angle), 0.26), color)
    _disk(canvas, place.part(0, -0.3, 0.22), chance.color("yellow") if color[2] > 0.25 else WOOD)


_THINGS: dict[str, Callable[[Canvas, Chance, Place, Color], None]] = {
    "house": _house,
    "tree": _tree,
    "boat": _boat,
    "car": _car,
    "fish": _fish,
    "flower": _flower,
}
SCENES = tuple(_THINGS)
WATER = ("boat", "fish")
