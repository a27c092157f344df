"""One head: its mean map, its patterns, and its statistics compared with those of all other heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas import wording
from headatlas.atlas import display, schema
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.plot import named
from headatlas.plot.style import REST, SMALL, TEXT, Page, Row, draw_map, fit, legend_height, patch
from headatlas.statistics import MASS, statistic

SIDE, LEFT, GAP = 2.3, 3.0, 0.45  # inches: the mean map, the column of maps and patterns, the gap after it
LABEL, END, STRIP, VALUE, RANK = 3.1, 0.6, 2.3, 0.6, 0.75  # inches: the columns of the statistics
LINE = 0.25
LISTED = 7  # patterns; the rest share one line


@dataclass(frozen=True)
class Comparison:
    """The mean of a statistic for one head, and for all heads."""

    name: str
    value: float
    heads: NDArray[np.float64]

    @property
    def rank(self) -> int:
        """1 for the head with the largest value; equal values share the better rank."""
        return int((self.heads > self.value).sum()) + 1

    @property
    def order(self) -> tuple[bool, float]:
        """Sorts first what matters: a difference from the median head that is large enough, in standard deviations."""
        difference = abs(self.value - float(np.median(self.heads)))
        return difference < statistic(self.name).least, -difference / float(self.heads.std())


def head(
    atlas: AtlasLike, layer: int, head: int, *, of: str | None = None, most: int = 16, dark: bool = False
) -> Figure:
    """Plot one head: its mean map, the shares of its patterns, and its statistics among those of all heads.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.head(atlas, 0, 2)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a collection; patterns are shown if it has a clustering.
    layer, head : int
        The head, counted from 0.
    of : str, optional
        Name of the clustering; by default the latest.
    most : int
        Number of statistics shown: those in which the head differs most from the others.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    atlas.needed("collect")
    from headatlas.models.model import check_head  # which imports torch

    check_head([facts["heads"] for facts in atlas.header["model"]["layers"]], layer, head)
    if most < 1:
        raise OptionError(f"most {most}: at least one statistic must be shown")
    if of is not None or atlas.results("cluster"):
        of = atlas.needed("cluster", of)
    shares = _shares(atlas, of, layer, head) if of else []
    compared = _compared(atlas, layer, head)
    shown = compared[:most]
    patterns = _patterns(shares)
    below = 0.75 + legend_height(LEFT, patterns) if patterns else 0.0
    height = max(0.3 + SIDE + below, 0.3 + LINE * len(shown))
    title = _title(wording.head_name(layer, head), shares, shown)
    width = LEFT + GAP + LABEL + END + STRIP + END + VALUE + RANK
    page = Page(width, height, title, _note(atlas, len(shown), len(compared)), dark)
    page.text(0, 0, "mean map", color=page.look.muted)
    draw_map(page.axes(0, 0.25, SIDE, SIDE), display.mean_maps(atlas)[layer, head], page.look)
    if patterns:
        _bar(page, patterns, shares, 0.3 + SIDE + 0.15)
        page.categories(0, 0.3 + SIDE + 0.42, LEFT, f"share of its maps in each cluster ({of})", patterns)
    _statistics(page, shown)
    return page.figure


def _shares(atlas: Atlas, of: str, layer: int, head: int) -> list[tuple[int, str, float]]:
    """Number, name and share of each cluster that the head's maps are in, the largest first and noise last."""
    labels = atlas.read("labels", (slice(None), layer, head), of)
    numbers, counts = np.unique(labels[labels != schema.MISSING], return_counts=True)
    names = named.names(atlas, of)
    shares = [
        (int(number), names[int(number)], float(count / counts.sum()))
        for number, count in zip(numbers, counts, strict=True)
    ]
    return sorted(shares, key=lambda share: (share[0] < 0, -share[2], share[0]))


def _patterns(shares: list[tuple[int, str, float]]) -> list[Row]:
    """Lines of the legend; the smallest shares have one line together."""
    listed = shares if len(shares) <= LISTED + 1 else shares[:LISTED]
    rows: list[Row] = [(number, name, wording.percent(share)) for number, name, share in listed]
    rest = shares[len(listed) :]
    if rest:
        rows.append((REST, f"{len(rest)} others", wording.percent(sum(share for _, _, share in rest))))
    return rows


def _bar(page: Page, patterns: list[Row], shares: list[tuple[int, str, float]], top: float) -> None:
    """All maps of the head as one bar, in the colors of the legend."""
    canvas = page.canvas(0, top, LEFT, 0.16)
    listed, left = {number for number, _, _ in patterns}, 0.0
    for number, _, share in shares:
        patch(canvas, number if number in listed else REST, (left, 0, share * LEFT, 0.16), page.look)
        left += share * LEFT


def _compared(atlas: Atlas, layer: int, head: int) -> list[Comparison]:
    """The statistics that differ between heads, those in which this head differs most first."""
    table = atlas.table("heads")
    place = [*zip(table["layer"].to_pylist(), table["head"].to_pylist(), strict=True)].index((layer, head))
    compared = []
    for name in (name for name in atlas.array("stats").attrs["stats"] if name in table.column_names):
        values = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
        heads = values[np.isfinite(values)]
        if np.isfinite(values[place]) and heads.std() > 0:
            compared.append(Comparison(name, float(values[place]), heads))
    return sorted(compared, key=lambda comparison: comparison.order)


def _statistics(page: Page, compared: list[Comparison]) -> None:
    """One line per statistic: all heads as ticks between the lowest and the highest, this one as a dot."""
    look, left = page.look, LEFT + GAP
    strip = left + LABEL + END
    right = strip + STRIP + END + VALUE
    heading: dict[str, Any] = {"color": look.muted}
    page.text(left, 0, "statistic, mean over examples", **heading)
    page.text(strip + STRIP / 2, 0, "every head, lowest to highest", ha="center", **heading)
    page.text(right, 0, "this head", ha="right", **heading)
    page.text(right + RANK, 0, "rank", ha="right", **heading)
    for number, comparison in enumerate(compared):
        middle = 0.3 + (number + 0.5) * LINE
        small: dict[str, Any] = {"color": look.muted, "va": "center", "size": SMALL}
        label = _label(comparison.name)
        page.text(left, middle, label, va="center", size=TEXT if len(fit(label, LABEL)) == 1 else SMALL)
        page.text(strip - 0.08, middle, wording.amount(comparison.heads.min()), ha="right", **small)
        page.text(strip + STRIP + 0.08, middle, wording.amount(comparison.heads.max()), **small)
        page.text(right, middle, wording.amount(comparison.value), ha="right", va="center", weight="bold")
        page.text(right + RANK, middle, f"{comparison.rank} of {len(comparison.heads)}", ha="right", **small)
        _strip(page, comparison, (strip, middle - LINE / 2))


def _strip(page: Page, comparison: Comparison, place: tuple[float, float]) -> None:
    axes = page.axes(*place, STRIP, LINE)
    low, high = float(comparison.heads.min()), float(comparison.heads.max())
    axes.set(xlim=(low, high), ylim=(-1, 1), xticks=[], yticks=[])
    axes.axhline(0, color=page.look.hairline, linewidth=0.8, zorder=0)
    axes.vlines(comparison.heads, -0.45, 0.45, color=page.look.noise, linewidth=0.8, clip_on=False)
    axes.scatter(comparison.value, 0, s=30, color=page.look.ink, zorder=3, clip_on=False)


def _label(name: str) -> str:
    """The label of a statistic, with its unit if that is not a share of attention."""
    declared = statistic(name)
    unit = "" if declared.unit == MASS else f" ({declared.unit})"
    return f"{declared.short}{unit}"


def _title(name: str, shares: list[tuple[int, str, float]], compared: list[Comparison]) -> str:
    """Title: the main pattern of the head, and the statistic in which it differs most."""
    parts = []
    if shares:
        _, pattern, share = max(shares, key=lambda entry: entry[2])
        parts.append(f"{wording.percent(share)} of its maps are “{pattern}”")
    if compared:
        first = compared[0]
        higher = first.value > float(np.median(first.heads))
        beyond = int(((first.heads < first.value) if higher else (first.heads > first.value)).sum())
        others = len(first.heads) - 1
        which = f"all {others}" if beyond == others else f"{beyond} of {others}"
        word = "higher" if higher else "lower"
        parts.append(f"{statistic(first.name).label} is {word} than in {which} other heads")
    return f"{name}: {'; '.join(parts) or 'its mean map'}"


def _note(atlas: Atlas, shown: int, total: int) -> str:
    examples = wording.many(atlas.array("pooled").shape[0], "example")
    which = f"The {shown} of {total} statistics in which it differs most" if shown < total else "All statistics"
    return (
        f"{atlas.header['model']['name']} on {examples}. In the mean map, queries run down and keys across; color is "
        f"the square root of attention, from 0 to its largest value. {which}; each line has its own scale, and without "
        "a unit it is a share of attention."
    )
