"""How figures look: colours, type, and a page measured in inches, the same in light and dark."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

# told apart with normal sight and without red, green or blue cones, on white and black (tests/unit/test_colours.py)
CATEGORIES = (
    "#2673AF", "#E59F02", "#16A276", "#D45E03", "#53B6EF", "#C877A7", "#6F4DC2", "#ADA142", "#8C5B44", "#A22B58",
)  # fmt: skip
HATCHES = ("", "////", "....", "xxxx")  # the second mark of the second, third and fourth ten
MARKERS = ("o", "$\\circ$", "^", "x")
GROWN = (1.0, 2.0, 1.8, 1.4)  # their areas, so that all are seen alike
REST = -3  # the number of what has no colour of its own: the many small categories together
Row = tuple[int, str, str]  # of a legend: number of the category, its name, a remark

INK = "#14161b"
MARGIN, LINE = 0.35, 0.17
TITLE, TEXT, SMALL = 11.0, 8.5, 7.0


@dataclass(frozen=True)
class Theme:
    """Greys for everything but data, and the scales for amounts and maps."""

    paper: str
    ink: str
    muted: str
    hairline: str
    noise: str
    amounts: Colormap
    differences: Colormap
    maps: Colormap


def theme(dark: bool) -> Theme:
    """The light or the dark theme; more is darker on light paper and lighter on dark paper."""
    steps = ["#a9d9c4", "#62b4b7", "#358bab", "#2a5f98", "#263a78"]
    if dark:
        amounts = LinearSegmentedColormap.from_list("amounts", ["#1d2230", *reversed(steps), "#f3f7df"])
        maps = LinearSegmentedColormap.from_list("maps", ["#1d222b", "#d7e6ff"])
        greys = ("#14161b", "#e8eaee", "#a0a8b5", "#3a414d", "#6b7280")
        differences = ["#b5dbff", "#3f87c4", "#262c37", "#c46a3c", "#ffcdab"]
        return Theme(*greys, amounts, LinearSegmentedColormap.from_list("differences", differences), maps)
    amounts = LinearSegmentedColormap.from_list("amounts", ["#f3f6f2", *steps, "#191241"])
    maps = LinearSegmentedColormap.from_list("maps", ["#f2f5f9", "#08306b"])
    greys = ("#ffffff", "#1b1f27", "#5f6878", "#d5dae2", "#b4bac4")
    differences = ["#123f70", "#5a9ad0", "#f1f3f5", "#e08d5f", "#8a2f0d"]
    return Theme(*greys, amounts, LinearSegmentedColormap.from_list("differences", differences), maps)


def colour(number: int, look: Theme) -> str:
    """The colour of a cluster or another category, the same in every figure; noise and what is left are grey."""
    if number == REST:
        return look.muted
    return look.noise if number < 0 else CATEGORIES[number % len(CATEGORIES)]


def turn(number: int) -> int:
    """Which second mark a category carries: 0 none, then one for every further ten."""
    return 0 if number < 0 else min(number // len(CATEGORIES), len(HATCHES) - 1)


def readable(background: Any) -> str:
    """Black or white, whichever is read better on this colour."""
    light = luminance(background)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / (luminance(INK) + 0.05) else INK


def luminance(colour: Any) -> float:
    """Relative luminance, from 0 for black to 1 for white."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def patch(axes: Axes, number: int, where: tuple[float, float, float, float], look: Theme) -> Rectangle:
    """A rectangle (left, bottom, width, height) in the colour and hatch of a category."""
    left, bottom, width, height = where
    hatch = HATCHES[turn(number)]
    made = Rectangle(
        (left, bottom), width, height, linewidth=0, facecolor=colour(number, look), edgecolor="#ffffff", hatch=hatch
    )
    axes.add_patch(made)
    return made


def fit(text: str, inches: float, size: float = TEXT, *, bold: bool = False) -> list[str]:
    """Lines of text that fit a width."""
    body, _, last = text.rpartition(" ")
    joined = f"{body}\u00a0{last}" if body and len(last) < 3 else text  # a number is not left on a line of its own
    lines = textwrap.wrap(joined, letters(inches, size, bold=bold))
    return [line.replace("\u00a0", " ") for line in lines] or [""]


def letters(inches: float, size: float = TEXT, *, bold: bool = False) -> int:
    """How many letters fit a width."""
    return max(8, int(inches / (size / 72 * (0.6 if bold else 0.54))))


def dot(axes: Axes, number: int, where: tuple[float, float], look: Theme) -> None:
    """A point in the colour and mark of a category, as in a scatter plot."""
    mark = MARKERS[turn(number)]
    axes.scatter(
        *where, s=26 * GROWN[turn(number)] ** 0.5, color=colour(number, look), marker=mark,
        linewidths=1.2 if mark == "x" else 0, clip_on=False,
    )  # fmt: skip


class Page:
    """A figure: a sentence on top, a body, and small print below; places are inches from the body's top left."""

    def __init__(self, width: float, height: float, title: str, note: str, dark: bool) -> None:
        self.look = theme(dark)
        heading = fit(title, width, TITLE, bold=True)
        print_ = fit(note, width, SMALL) if note else []
        self.above = MARGIN + len(heading) * TITLE / 72 * 1.35 + 0.2
        below = MARGIN + len(print_) * LINE * 0.85 + (0.2 if print_ else 0)
        self.width, self.height = width + 2 * MARGIN, self.above + height + below
        self.figure = Figure(figsize=(self.width, self.height), facecolor=self.look.paper)
        self.text(0, MARGIN - self.above, "\n".join(heading), size=TITLE, weight="bold", linespacing=1.25)
        if print_:
            self.text(0, height + 0.2, "\n".join(print_), size=SMALL, color=self.look.muted, linespacing=1.35)

    def text(self, left: float, top: float, text: str, **options: Any) -> Any:
        """Words, by default with their top left corner here."""
        for key, value in {"size": TEXT, "color": self.look.ink, "va": "top", "ha": "left"}.items():
            options.setdefault(key, value)
        x, y = (left + MARGIN) / self.width, 1 - (top + self.above) / self.height
        return self.figure.text(x, y, text, parse_math=False, **options)

    def axes(self, left: float, top: float, width: float, height: float, *, frame: bool = False) -> Axes:
        """Axes at this place, with hairlines at most."""
        x, y = (left + MARGIN) / self.width, 1 - (top + self.above + height) / self.height
        made = self.figure.add_axes((x, y, width / self.width, height / self.height), facecolor=self.look.paper)
        made.tick_params(colors=self.look.muted, labelcolor=self.look.ink, labelsize=SMALL, length=0, width=0.5)
        for side, spine in made.spines.items():
            spine.set_visible(frame and side in ("left", "bottom"))
            spine.set_color(self.look.hairline)
            spine.set_linewidth(0.8)
        made.xaxis.label.set(color=self.look.muted, size=TEXT)
        made.yaxis.label.set(color=self.look.muted, size=TEXT)
        return made

    def canvas(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes measured in inches from their top left corner, to draw on."""
        made = self.axes(left, top, width, height)
        made.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
        made.patch.set_visible(False)
        return made

    def scale(self, left: float, top: float, image: Any, label: str, unit: str = "", *, whole: bool = False) -> None:
        """The legend of an amount: what it is, its unit on a line of its own, and a bar."""
        self.text(left, top, label)
        self.text(left, top + 0.17, unit, color=self.look.muted, size=SMALL)
        bar = self.axes(left, top + (0.36 if unit else 0.22), 1.8, 0.11)
        made = self.figure.colorbar(image, cax=bar, orientation="horizontal")
        made.outline.set_visible(False)
        made.locator = MaxNLocator(4, integer=whole)
        made.update_ticks()
        bar.tick_params(colors=self.look.muted, labelcolor=self.look.ink, labelsize=SMALL, length=2, width=0.5)

    def categories(
        self, left: float, top: float, width: float, title: str, rows: list[Row], *, points: bool = False
    ) -> None:
        """The legend of categories, as patches or points: number, name, and a remark in grey at the right."""
        self.text(left, top, title, color=self.look.muted)
        lines = [(number, fit(name, width - 1.05)[:2], remark) for number, name, remark in rows]
        height = legend_height(width, rows)
        canvas = self.canvas(left, top + 0.26, width, height)
        y = 0.0
        for number, name, remark in lines:
            if points:
                dot(canvas, number, (0.075, y + 0.085), self.look)
            else:
                patch(canvas, number, (0, y + 0.02, 0.15, 0.13), self.look)
            options: dict[str, Any] = {"va": "baseline", "size": TEXT, "parse_math": False}
            for line, words in enumerate(name):
                canvas.text(0.23, y + 0.13 + 0.15 * line, words, color=self.look.ink, **options)
            canvas.text(width, y + 0.13, remark, color=self.look.muted, ha="right", **options)
            y += 0.21 + 0.15 * (len(name) - 1)


def legend_height(width: float, rows: list[Row]) -> float:
    """Inches that the rows of a legend of categories take."""
    return sum(0.21 + 0.15 * (len(fit(name, width - 1.05)[:2]) - 1) for _, name, _ in rows) + 0.05


def map_picture(values: Any) -> Any:
    """A map to be drawn: the square root of attention from 0 to its largest value."""
    root = np.sqrt(np.clip(np.asarray(values, np.float64), 0, None))
    top = np.nanmax(root) if np.isfinite(root).any() else 0
    return root / top if top > 0 else root


def draw_map(axes: Axes, values: Any, look: Theme) -> None:
    """One map, crisp: query down, key across."""
    axes.imshow(map_picture(values), cmap=look.maps, vmin=0, vmax=1, interpolation="none", aspect="auto")
    axes.set(xticks=[], yticks=[])


MAPS_NOTE = (
    "In each map query runs down, key across; colour is the square root of attention, each map from 0 to its "
    "largest value."
)
