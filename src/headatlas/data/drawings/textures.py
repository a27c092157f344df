"""Textures: functions of the place of every pixel, from 0 to 1."""

from __future__ import annotations

import numpy as np

from headatlas.data.drawings.canvas import COLUMNS, ROWS, SIDE, Chance, Field

__all__ = ["TEXTURES", "clouds", "gradient", "stripes", "texture"]

TEXTURES = ("horizontal stripes", "vertical stripes", "diagonal stripes", "checkerboard", "concentric rings", "waves")


def texture(name: str, chance: Chance, period: float) -> Field:
    """A texture of this name, with random phase and a slightly random angle."""
    tilt = chance.between(-0.18, 0.18)
    if name == "concentric rings":
        x, y = chance.between(10, SIDE - 10), chance.between(10, SIDE - 10)
        return _wave(np.hypot(COLUMNS - x, ROWS - y), period, chance)
    if name == "checkerboard":
        return _checks(tilt, period, chance)
    if name == "waves":
        bend = chance.between(3, 5) * np.sin(COLUMNS * (2 * np.pi / chance.between(16, 28)) + chance.between(0, 6))
        return _wave(ROWS + bend.astype(np.float32), period, chance)
    angles = {"horizontal stripes": np.pi / 2, "vertical stripes": 0.0}
    diagonal = np.pi / 4 if chance.happens(0.5) else -np.pi / 4
    return stripes(angles.get(name, diagonal) + tilt, period, chance)


def stripes(angle: float, period: float, chance: Chance) -> Field:
    """Stripes across this direction."""
    return _wave(COLUMNS * np.float32(np.cos(angle)) + ROWS * np.float32(np.sin(angle)), period, chance)


def gradient(angle: float) -> Field:
    """From one side of the picture to the other."""
    ramp: Field = (COLUMNS / SIDE - 0.5) * np.float32(np.cos(angle)) + (ROWS / SIDE - 0.5) * np.float32(np.sin(angle))
    return ramp / np.float32(1.42) + np.float32(0.5)


def clouds(chance: Chance, cells: int = 6) -> Field:
    """Smooth random spots: a few random numbers, with all others mixed from the nearest four."""
    grid = chance.field(cells + 1, cells + 1)
    step = np.arange(SIDE, dtype=np.float32) * (cells / SIDE)
    first = step.astype(np.intp)
    rest = step - first
    rest = rest * rest * (3 - 2 * rest)
    across = grid[:, first] * (1 - rest) + grid[:, first + 1] * rest
    spots = across[first] * (1 - rest[:, None]) + across[first + 1] * rest[:, None]
    values: Field = ((spots + 1) / 2).astype(np.float32)
    return values


def _wave(distance: Field, period: float, chance: Chance) -> Field:
    """Soft stripes along a distance in pixels."""
    phase = chance.between(0, 2 * np.pi)
    wave: Field = np.sin(distance * np.float32(2 * np.pi / period) + np.float32(phase))
    soft: Field = np.clip(wave * np.float32(1.5) + np.float32(0.5), 0, 1)
    return soft


def _checks(tilt: float, period: float, chance: Chance) -> Field:
    first, second = (2 * stripes(angle, period * 1.6, chance) - 1 for angle in (tilt, tilt + np.pi / 2))
    return ((first * second + 1) / 2).astype(np.float32)
