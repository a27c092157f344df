"""Colors of categories can be distinguished, also by color-blind people, and are visible on both backgrounds."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from headatlas.plot import CATEGORIES, style

# how linear red, green and blue are seen without one kind of cones (Machado, Oliveira and Fernandes 2009)
SIGHTS = {
    "normal": np.eye(3),
    "no red cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue cones": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])
LEAST_DISTANCE = 15  # CIELAB distance (1976); about 2.3 is a just noticeable difference
LEAST_FROM_GRAY = 12


def linear(colors):
    parts = np.array([to_rgb(color) for color in colors])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colors, sight):
    xyz = np.clip(linear(colors) @ np.array(SIGHTS[sight]).T, 0, 1) @ XYZ.T / XYZ.sum(1)
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)


def contrast(a, b):
    low, high = sorted(linear([a, b]) @ XYZ[1])
    return (high + 0.05) / (low + 0.05)


def test_color_distances_and_contrasts_are_right():
    assert lab(["#ffffff", "#000000"], "normal") == pytest.approx(np.array([[100, 0, 0], [0, 0, 0]]), abs=0.1)
    red_and_green = {sight: np.linalg.norm(np.diff(lab(["#b06000", "#688000"], sight), axis=0)) for sight in SIGHTS}
    assert red_and_green["no green cones"] < 15 < 30 < red_and_green["normal"]
    assert contrast("#000000", "#ffffff") == pytest.approx(21, abs=0.01)


@pytest.mark.parametrize("sight", SIGHTS)
def test_categories_can_be_distinguished(sight):
    points = lab(CATEGORIES, sight)
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)) >= LEAST_DISTANCE
    for dark in (False, True):
        gray = lab([style.theme(dark).noise], sight)
        assert np.linalg.norm(points - gray, axis=1).min() >= LEAST_FROM_GRAY


@pytest.mark.parametrize("dark", [False, True])
def test_everything_is_visible_on_its_background(dark):
    theme = style.theme(dark)
    assert min(contrast(color, theme.paper) for color in CATEGORIES) >= 2.2
    assert contrast(theme.ink, theme.paper) >= 12 and contrast(theme.muted, theme.paper) >= 4.5
    assert contrast(theme.noise, theme.paper) >= 1.9
    for color in (*CATEGORIES, theme.noise, theme.muted):  # numbers in cells
        assert contrast(style.readable(color), color) >= 4.4


@pytest.mark.parametrize("dark", [False, True])
def test_amounts_and_maps_are_monotone_and_differences_turn_in_the_middle(dark):
    theme = style.theme(dark)
    for scale in (theme.amounts, theme.maps):
        light = lab(scale(np.linspace(0, 1, 64))[:, :3], "normal")[:, 0]
        assert (np.diff(light) > 0).all() if dark else (np.diff(light) < 0).all()
    light = lab(theme.differences(np.linspace(0, 1, 65))[:, :3], "normal")[:, 0]
    assert light.argmin() == 32 if dark else light.argmax() == 32
    assert abs(light[0] - light[-1]) < 12


def shades():
    """The ends of the shades of each category, from the page."""
    text = (Path(__file__).resolve().parents[2] / "frontend" / "src" / "lib" / "palette.ts").read_text()
    table = text[text.index("export const SHADES") : text.index("export const NOISE_GRAY")]
    return [tuple(re.findall(r"#[0-9A-F]{6}", line)) for line in table.splitlines() if "#" in line]


def test_shades_keep_the_hue_of_their_category_and_can_be_seen():
    assert len(shades()) == len(CATEGORIES)
    for category, ends in zip(CATEGORIES, shades(), strict=True):
        light = lab(ends, "normal")[:, 0]
        assert light[1] - light[0] > 25  # room for several shades
        colors = [tuple(np.array(to_rgb(ends[0])) * (1 - at) + np.array(to_rgb(ends[1])) * at) for at in (0, 0.5, 1)]
        _, *hue = lab([category], "normal")[0]
        for color, (_, *other) in zip(colors, lab(colors, "normal"), strict=True):
            angle = np.degrees(np.arccos(np.dot(hue, other) / np.linalg.norm(hue) / np.linalg.norm(other)))
            assert angle < 20, (category, color)
            assert all(contrast(color, style.theme(dark).paper) >= 2 for dark in (False, True))
            assert contrast(style.readable(color), color) >= 4.4
