"""Pictures that we draw: shapes, letters, counts of dots, textures and scenes; any number of them, from a seed.

>>> picture = draw(3)
>>> picture.pixels.shape, picture.label in CLASSES
((64, 64, 3), True)

Position, size, angle, colors, background, clutter and noise are random. Every run of as many pictures as there are
classes has one of each. Training and test pictures have different seeds; `sample:images` has seed 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headatlas.data.drawings import shapes
from headatlas.data.drawings.canvas import COLORS, SIDE, Canvas, Chance, Color, Field, Place
from headatlas.data.drawings.letters import LETTERS, letter
from headatlas.data.drawings.scenes import SCENES, WATER, landscape, scene
from headatlas.data.drawings.textures import TEXTURES, clouds, gradient, stripes, texture

__all__ = ["CLASSES", "KINDS", "SIDE", "VERSION", "Drawing", "draw"]

VERSION = 1  # changes when a picture changes
COUNTS = {"two dots": 2, "three dots": 3, "four dots": 4, "five dots": 5, "six dots": 6}
KINDS: dict[str, tuple[str, ...]] = {
    "shape": tuple(shapes.SHAPES),
    "letter": tuple(f"letter {name}" for name in LETTERS),
    "count": tuple(COUNTS),
    "texture": TEXTURES,
    "scene": SCENES,
}
CLASSES = tuple(label for labels in KINDS.values() for label in labels)
KIND_OF = {label: kind for kind, labels in KINDS.items() for label in labels}
BACKGROUNDS = ("plain", "gradient", "stripes", "clouds")
CONTRAST = 0.45  # least distance of the color of a thing from the color behind it


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, what it shows, and which pixels show it."""

    pixels: NDArray[np.uint8]  # (row, column, color)
    subject: Field  # (row, column), from 0 to 1
    label: str
    columns: dict[str, object]


@dataclass(slots=True)
class Facts:
    """What is known of a picture when it is drawn."""

    color: str
    background: str
    objects: int
    place: Place | None = None


def draw(number: int, seed: int = 0) -> Drawing:
    """The picture with this number of the series with this seed."""
    label = _label(number, seed)
    chance = Chance(seed, number, 1)
    canvas, facts = _DRAWERS[KIND_OF[label]](label, chance)
    pixels = canvas.finish(chance.between(0.02, 0.16) * chance.field(SIDE, SIDE, 3))
    place = facts.place
    columns: dict[str, object] = {
        "label": label,
        "kind": KIND_OF[label],
        "color": facts.color,
        "background": facts.background,
        "objects": facts.objects,
        "size": round(2 * place.radius, 1) if place else None,
        "x": round(place.x, 1) if place else None,
        "y": round(place.y, 1) if place else None,
    }
    return Drawing(pixels, canvas.subject, label, columns)


def _label(number: int, seed: int) -> str:
    turn, place = divmod(number, len(CLASSES))
    return CLASSES[_order(seed, turn)[place]]


@lru_cache(maxsize=64)
def _order(seed: int, turn: int) -> list[int]:
    return Chance(seed, turn, 0).order(len(CLASSES))


def _background(chance: Chance) -> tuple[Canvas, str]:
    """A canvas with a background, and its name."""
    name, color = chance.choose(BACKGROUNDS), chance.color(chance.choose(list(COLORS)), 0.15) * 0.85
    canvas = Canvas(color)
    if name != "plain":
        angle, period, strength = chance.between(0, np.pi), chance.between(6, 18), chance.between(0.3, 0.8)
        pattern = {
            "gradient": gradient(angle),
            "stripes": stripes(angle, period, chance) * 0.4,
            "clouds": clouds(chance),
        }
        canvas.pixels += ((pattern[name] - 0.5) * strength * 0.8)[..., None]
    return canvas, name


def _ink(chance: Chance, behind: Color) -> tuple[str, Color]:
    """A color that can be told from the one behind it."""
    while True:
        name = chance.choose(list(COLORS))
        color = chance.color(name)
        if float(np.linalg.norm(color - behind)) > CONTRAST:
            return name, color


def _clutter(canvas: Canvas, chance: Chance) -> int:
    """Small strokes and specks that mean nothing."""
    count = chance.count(0, 4)
    for _ in range(count):
        place = Place(chance.between(0, SIDE), chance.between(0, SIDE), chance.between(2, 9), chance.between(0, np.pi))
        stroke = shapes.box(*place.local(), 1.0, 0.6 / place.radius)
        canvas.paint(place.cover(stroke) * np.float32(0.7), chance.color(chance.choose(list(COLORS))), subject=False)
    return count


def _single(label: str, chance: Chance) -> tuple[Canvas, Facts]:
    """A shape or a letter."""
    canvas, background = _background(chance)
    others = _clutter(canvas, chance)
    radius = chance.between(9, 26)
    edge = radius * 0.9
    x, y = (chance.between(edge, SIDE - edge) for _ in "xy")
    place = Place(x, y, radius, chance.between(-0.35, 0.35))
    u, v = place.local()
    shape = shapes.SHAPES.get(label)
    cover = place.cover(shape(u, v) if shape else letter(label.removeprefix("letter "), u, v))
    name, color = _ink(chance, np.average(canvas.pixels.reshape(-1, 3), 0, cover.reshape(-1)))
    canvas.paint(cover, color)
    return canvas, Facts(name, background, others + 1, place)


def _dots(label: str, chance: Chance) -> tuple[Canvas, Facts]:
    """Dots of one color that do not touch."""
    canvas, background = _background(chance)
    others = _clutter(canvas, chance)
    name, color = _ink(chance, canvas.pixels.mean((0, 1)))
    radius, places = chance.between(3, 6.5), list[Place]()
    while len(places) < COUNTS[label]:
        x, y = (chance.between(8, SIDE - 8) for _ in "xy")
        dot = Place(x, y, radius * chance.between(0.85, 1.15))
        if all(np.hypot(dot.x - other.x, dot.y - other.y) > 2 * radius + 5 for other in places):
            places.append(dot)
            canvas.paint(dot.cover(shapes.disk(*dot.local())), color)
    middle = Place(float(np.mean([dot.x for dot in places])), float(np.mean([dot.y for dot in places])), radius)
    return canvas, Facts(name, background, others + len(places), middle)


def _texture(label: str, chance: Chance) -> tuple[Canvas, Facts]:
    """Two colors that alternate over the whole picture."""
    canvas = Canvas(chance.color(chance.choose(list(COLORS)), 0.15))
    name, color = _ink(chance, canvas.pixels[0, 0].copy())
    canvas.paint(texture(label, chance, chance.between(6.5, 16)), color)
    canvas.subject = np.ones((SIDE, SIDE), np.float32)
    canvas.pixels += ((clouds(chance) - 0.5) * chance.between(0, 0.4))[..., None]
    return canvas, Facts(name, "texture", 0)


def _scene(label: str, chance: Chance) -> tuple[Canvas, Facts]:
    """A thing in a landscape."""
    water = label in WATER
    canvas = landscape(chance, water)
    name, color = _ink(chance, canvas.pixels.mean((0, 1)))
    place, objects = scene(label, canvas, chance, color)
    return canvas, Facts(name, "water" if water else "land", objects, place)


_DRAWERS = {"shape": _single, "letter": _single, "count": _dots, "texture": _texture, "scene": _scene}
