"""How figures look: colors, fonts, and a page measured in inches, in light and dark themes."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, LogNorm, hsv_to_rgb, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

# distinct with normal and color-blind vision, on white and on black (checked by tests/unit/test_colors.py)
CATEGORIES = (
    "#2673AF", "#E59F02", "#16A276", "#D45E03", "#53B6EF", "#C877A7", "#6F4DC2", "#ADA142", "#8C5B44", "#A22B58",
)  # fmt: skip
HATCHES = ("", "////", "....", "xxxx")  # distinguish the second, third and fourth group of ten categories
MARKERS = ("o", "$\\circ$", "^", "x")
GROWN = (1.0, 2.0, 1.8, 1.4)  # relative areas, so that all markers look equally large
REST = -3  # the number of the small categories that share one color
Row = tuple[int, str, str]  # of a legend: category number, name, remark

INK = "#14161b"
HUE_LIGHT = 0.25  # relative luminance, between those of the two backgrounds
MARGIN, LINE = 0.35, 0.17
SCREEN = 96  # pixels per inch in a browser
TITLE, TEXT, SMALL = 11.0, 8.5, 7.0


@dataclass(frozen=True)
class Theme:
    """Grays for everything but data, and the color scales for amounts and maps."""

    paper: str
    ink: str
    muted: str
    hairline: str
    noise: str
    amounts: Colormap
    differences: Colormap
    maps: Colormap


def theme(dark: bool) -> Theme:
    """The light or the dark theme; larger amounts are darker on light paper and lighter on dark paper."""
    steps = ["#a9d9c4", "#62b4b7", "#358bab", "#2a5f98", "#263a78"]
    if dark:
        amounts = LinearSegmentedColormap.from_list("amounts", ["#1d2230", *reversed(steps), "#f3f7df"])
        maps = LinearSegmentedColormap.from_list("maps", ["#1d222b", "#d7e6ff"])
        grays = ("#14161b", "#e8eaee", "#a0a8b5", "#3a414d", "#6b7280")
        differences = ["#b5dbff", "#3f87c4", "#262c37", "#c46a3c", "#ffcdab"]
        return Theme(*grays, amounts, LinearSegmentedColormap.from_list("differences", differences), maps)
    amounts = LinearSegmentedColormap.from_list("amounts", ["#f3f6f2", *steps, "#191241"])
    maps = LinearSegmentedColormap.from_list("maps", ["#f2f5f9", "#08306b"])
    grays = ("#ffffff", "#1b1f27", "#5f6878", "#d5dae2", "#b4bac4")
    differences = ["#123f70", "#5a9ad0", "#f1f3f5", "#e08d5f", "#8a2f0d"]
    return Theme(*grays, amounts, LinearSegmentedColormap.from_list("differences", differences), maps)


def hues() -> ListedColormap:
    """The circle of hues, all equally light, so that none stands out or vanishes on white or black."""
    colors = hsv_to_rgb([(hue, 1, 1) for hue in np.linspace(0, 1, 256)])
    light = np.array([luminance(color) for color in colors])[:, None]
    linear = np.where(light > HUE_LIGHT, colors**2.2 * HUE_LIGHT / light, _lightened(colors**2.2, light))
    return ListedColormap(linear ** (1 / 2.2))


def _lightened(linear: Any, light: Any) -> Any:
    """Colors mixed with white until they are light enough."""
    return linear + (1 - linear) * np.clip((HUE_LIGHT - light) / (1 - light), 0, 1)


def color(number: int, look: Theme) -> str:
    """The color of a cluster or other category, the same in every figure; noise and the rest are gray."""
    if number == REST:
        return look.muted
    return look.noise if number < 0 else CATEGORIES[number % len(CATEGORIES)]


def turn(number: int) -> int:
    """Index of the hatch or marker of a category: 0 for the first ten categories, then one more per ten."""
    return 0 if number < 0 else min(number // len(CATEGORIES), len(HATCHES) - 1)


def readable(background: Any) -> str:
    """Black or white, whichever is more readable on this color."""
    light = luminance(background)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / (luminance(INK) + 0.05) else INK


def luminance(color: Any) -> float:
    """Relative luminance, from 0 for black to 1 for white."""
    parts = np.array(to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def patch(axes: Axes, number: int, where: tuple[float, float, float, float], look: Theme) -> Rectangle:
    """A rectangle (left, bottom, width, height) in the color and hatch of a category."""
    left, bottom, width, height = where
    hatch = HATCHES[turn(number)]
    rectangle = Rectangle(
        (left, bottom), width, height, linewidth=0, facecolor=color(number, look), edgecolor="#ffffff", hatch=hatch
    )
    axes.add_patch(rectangle)
    return rectangle


def fit(text: str, inches: float, size: float = TEXT, *, bold: bool = False) -> list[str]:
    """Lines of text that fit a width."""
    body, _, last = text.rpartition(" ")
    joined = f"{body}\u00a0{last}" if body and len(last) < 3 else text  # a number is not left alone on a line
    lines = textwrap.wrap(joined, letters(inches, size, bold=bold))
    return [line.replace("\u00a0", " ") for line in lines] or [""]


def letters(inches: float, size: float = TEXT, *, bold: bool = False) -> int:
    """Number of letters that fit a width."""
    return max(8, int(inches / (size / 72 * (0.6 if bold else 0.54))))


def dot(axes: Axes, number: int, where: tuple[float, float], look: Theme) -> None:
    """A point in the color and mark of a category, as in a scatter plot."""
    mark = MARKERS[turn(number)]
    axes.scatter(
        *where, s=26 * GROWN[turn(number)] ** 0.5, color=color(number, look), marker=mark,
        linewidths=1.2 if mark == "x" else 0, clip_on=False,
    )  # fmt: skip


class NotebookFigure(Figure):
    """A figure that a notebook shows once, with and without `%matplotlib inline`.

    Without that command matplotlib shows figures of pyplot only; with it, its own image takes the place of this one.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=2 * SCREEN, facecolor=self.get_facecolor())
        width, height = self.get_size_inches()
        return image.getvalue(), {"width": round(SCREEN * width), "height": round(SCREEN * height)}


class Page:
    """A figure with a title, a body and a note below; positions are in inches from the top left of the body."""

    def __init__(self, width: float, height: float, title: str, note: str, dark: bool) -> None:
        self.look = theme(dark)
        heading = fit(title, width, TITLE, bold=True)
        note_lines = fit(note, width, SMALL) if note else []
        self.above = MARGIN + len(heading) * TITLE / 72 * 1.35 + 0.2
        below = MARGIN + len(note_lines) * LINE * 0.85 + (0.2 if note_lines else 0)
        self.width, self.height = width + 2 * MARGIN, self.above + height + below
        self.figure = NotebookFigure(figsize=(self.width, self.height), facecolor=self.look.paper)
        self.text(0, MARGIN - self.above, "\n".join(heading), size=TITLE, weight="bold", linespacing=1.25)
        if note_lines:
            self.text(0, height + 0.2, "\n".join(note_lines), size=SMALL, color=self.look.muted, linespacing=1.35)

    def text(self, left: float, top: float, text: str, **options: Any) -> Any:
        """Draw text, by default with its top left corner at this position."""
        for key, value in {"size": TEXT, "color": self.look.ink, "va": "top", "ha": "left"}.items():
            options.setdefault(key, value)
        x, y = (left + MARGIN) / self.width, 1 - (top + self.above) / self.height
        return self.figure.text(x, y, text, parse_math=False, **options)

    def axes(self, left: float, top: float, width: float, height: float, *, frame: bool = False) -> Axes:
        """Add axes at this position, with thin spines at most."""
        x, y = (left + MARGIN) / self.width, 1 - (top + self.above + height) / self.height
        axes = self.figure.add_axes((x, y, width / self.width, height / self.height), facecolor=self.look.paper)
        axes.tick_params(colors=self.look.muted, labelcolor=self.look.ink, labelsize=SMALL, length=0, width=0.5)
        for side, spine in axes.spines.items():
            spine.set_visible(frame and side in ("left", "bottom"))
            spine.set_color(self.look.hairline)
            spine.set_linewidth(0.8)
        axes.xaxis.label.set(color=self.look.muted, size=TEXT)
        axes.yaxis.label.set(color=self.look.muted, size=TEXT)
        return axes

    def canvas(self, left: float, top: float, width: float, height: float) -> Axes:
        """Add axes measured in inches from their top left corner, for drawing."""
        axes = self.axes(left, top, width, height)
        axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
        axes.patch.set_visible(False)
        return axes

    def scale(self, left: float, top: float, image: Any, label: str, unit: str = "", *, integer: bool = False) -> None:
        """Draw the legend of an amount: its name, its unit on a second line, and a color bar."""
        self.text(left, top, label)
        self.text(left, top + 0.17, unit, color=self.look.muted, size=SMALL)
        bar = self.axes(left, top + (0.36 if unit else 0.22), 1.8, 0.11)
        colorbar = self.figure.colorbar(image, cax=bar, orientation="horizontal")
        colorbar.outline.set_visible(False)
        if isinstance(image.norm, LogNorm):
            low, high = image.get_clim()
            colorbar.locator = LogLocator(subs=(1,) if high > 100 * low else (1, 3))
            colorbar.formatter = FuncFormatter(lambda value, _: f"{value:g}")
            colorbar.minorticks_off()
        else:
            colorbar.locator = MaxNLocator(4, integer=integer)
        colorbar.update_ticks()
        bar.tick_params(colors=self.look.muted, labelcolor=self.look.ink, labelsize=SMALL, length=2, width=0.5)

    def categories(
        self, left: float, top: float, width: float, title: str, rows: list[Row], *, points: bool = False
    ) -> None:
        """Draw the legend of categories, as patches or points: name, and a remark in gray at the right."""
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
    """Height in inches of the rows of a legend of categories."""
    return sum(0.21 + 0.15 * (len(fit(name, width - 1.05)[:2]) - 1) for _, name, _ in rows) + 0.05


def map_picture(values: Any) -> Any:
    """A map as it is drawn: the square root of attention, scaled so that its largest value is 1."""
    root = np.sqrt(np.clip(np.asarray(values, np.float64), 0, None))
    top = np.nanmax(root) if np.isfinite(root).any() else 0
    return root / top if top > 0 else root


def draw_map(axes: Axes, values: Any, look: Theme) -> None:
    """Draw one map without smoothing: query down, key across."""
    axes.imshow(map_picture(values), cmap=look.maps, vmin=0, vmax=1, interpolation="none", aspect="auto")
    axes.set(xticks=[], yticks=[])


MAPS_NOTE = (
    "In each map, queries run down and keys across; color is the square root of attention, each map from 0 to its "
    "largest value."
)
