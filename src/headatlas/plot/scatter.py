"""The projection: all maps as points of the plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize, to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.numeric import quantiles
from headatlas.numeric.quantiles import Axis
from headatlas.plot.named import names as given_names
from headatlas.plot.style import GROWN, MARKERS, REST, SMALL, Page, Theme, color, hues, legend_height, turn
from headatlas.statistics import statistic
from headatlas.wording import count, faithful, many, method_name, percent, ratio

MOST = 200_000  # points drawn
DOUBT = 0.8  # points with less trust are faded
SIDE, LEGEND = 6.0, 3.1
EVENLY = "Equal steps of an axis hold equal numbers of maps; ticks show the projection's own values. "
STEPS = 8  # of a quantile axis, each with the same number of maps
Scale = Literal["linear", "log", "angle"]
LINES = 24  # clusters listed in the legend; the rest share one line


@dataclass(frozen=True)
class Coloring:
    """What the points are colored by: named categories, or amounts."""

    by: str
    values: NDArray[Any]
    categories: list[tuple[int, str, str]] = field(default_factory=list)
    unit: str = ""
    note: str = ""  # on the legend of categories
    scale: Scale = "linear"  # of amounts

    @property
    def title(self) -> str:
        """The title of the legend."""
        return f"{self.by}{self.note}"


def projection(
    atlas: AtlasLike,
    of: str | None = None,
    by: str = "cluster",
    clustering: str | None = None,
    dark: bool = False,
    quantile: bool = False,
    k: int = 100,
) -> Figure:
    """Plot a projection: one point per map, faded where its position cannot be trusted.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.projection(atlas, by="layer")

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a projection.
    of : str, optional
        Name of the projection; by default the latest.
    by : str
        What colors a point: `cluster`, `layer`, `head`, a statistic, or a column of the table `examples`.
    clustering : str, optional
        Name of the clustering for `by="cluster"`; by default the latest.
    dark : bool
        Use the dark theme.
    quantile : bool
        Use quantile axes: equal steps hold equal numbers of maps, and ticks show the original values.
    k : int
        Number of quantiles of a quantile axis.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("project", of)
    position, trust = atlas.read("position", of=of), atlas.read("trust", of=of)
    shape = trust.shape
    exists = np.flatnonzero(np.isfinite(position.reshape(-1, 2)).all(1))
    shown = np.random.default_rng(0).permutation(exists)[:MOST]  # shuffled, so that no group covers another
    coloring = _coloring(atlas, by, clustering, shape, shown)
    facts = atlas.facts("project", of)
    points, doubt = position.reshape(-1, 2)[shown], trust.reshape(-1)[shown] < DOUBT
    quantile_axes = [quantiles.axis(column, k) for column in position.reshape(-1, 2)[exists].T] if quantile else []
    rows = coloring.categories
    height = max(SIDE, 0.3 + legend_height(LEGEND, rows)) if rows else SIDE
    left = 0.45 if quantile else 0.15  # room for ticks
    page = Page(
        left + SIDE + 0.45 + LEGEND,
        height + (0.45 if quantile else 0.25),
        _title(of, facts, len(exists), coloring.by),
        (EVENLY if quantile else "") + _note(facts, len(shown), len(exists), doubt),
        dark,
    )
    axes = page.axes(left, 0, SIDE, SIDE, frame=True)
    image = _draw(axes, page, _placed(points, quantile_axes), doubt, coloring)
    _axes(axes, page, facts, quantile_axes)
    if rows:
        page.categories(left + SIDE + 0.45, 0, LEGEND, coloring.title, rows, points=True)
    else:
        page.scale(left + SIDE + 0.45, 0, image, coloring.title, coloring.unit, integer=by in ("layer", "head"))
    return page.figure


def _placed(points: NDArray[Any], quantile_axes: list[Axis]) -> NDArray[Any]:
    """Points in the coordinates of the quantile axes, if there are any."""
    return (
        np.stack([axis.forward(column) for axis, column in zip(quantile_axes, points.T, strict=True)], 1)
        if quantile_axes
        else points
    )


def _title(of: str, facts: dict[str, Any], maps: int, by: str) -> str:
    name = method_name(facts["method"]) + (f" ({of})" if of != facts["method"] else "")
    return f"{many(maps, 'map')} in the plane by {name}, colored by {by}: {faithful(facts['trustworthiness'])}"


def _note(facts: dict[str, Any], shown: int, total: int, doubt: NDArray[np.bool_]) -> str:
    note = "Each point is one map (one example, one head). "
    if shown < total:
        note += f"{count(shown)} of {count(total)} are drawn, chosen at random with a fixed seed. "
    if facts["placed_trustworthiness"] is not None:
        note += f"{count(facts['sample'])} maps were fitted; the rest were added afterwards, with a "
        note += f"trustworthiness of {ratio(facts['placed_trustworthiness'])}. "
    if doubt.any():
        note += f"Faded points have a trust below {DOUBT} ({percent(float(doubt.mean()))} of those drawn): some of "
        note += "their neighbors in the plane are not similar maps. "
    return note + (
        "Trustworthiness is 1 if all neighbors in the plane are true neighbors, about 0.5 by chance. "
        f"Continuity {ratio(facts['continuity'])}: 1 if all true neighbors stay neighbors in the plane."
    )


def _axes(axes: Any, page: Page, facts: dict[str, Any], quantile_axes: list[Axis]) -> None:
    """Label the axes; only quantile axes have ticks. On linear axes both directions share one scale."""
    if quantile_axes:
        for name, axis in zip("xy", quantile_axes, strict=True):
            getattr(axes, f"set_{name}ticks")(*axis.ticks(STEPS + 1))
        axes.grid(color=page.look.hairline, linewidth=0.5)
        axes.set_axisbelow(True)
    else:
        axes.set(xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="datalim")
    if "variance" in facts:
        for name, share in zip("xy", facts["variance"], strict=True):
            number = "first" if name == "x" else "second"
            getattr(axes, f"set_{name}label")(f"{number} component ({percent(share)} of variance)", size=SMALL)
        return
    method = method_name(facts["method"])
    axes.set_xlabel(f"{method} 1 (no unit: only nearness is meaningful)", size=SMALL)
    axes.set_ylabel(f"{method} 2", size=SMALL)


def _draw(axes: Any, page: Page, points: NDArray[Any], doubt: NDArray[np.bool_], coloring: Coloring) -> Any:
    """Draw the points, untrusted ones first and faded; categories beyond ten use other markers."""
    size = point_size(len(points))
    colors, image = shades(coloring, page.look)
    turns = np.array([turn(int(number)) if coloring.categories else 0 for number in coloring.values], int)
    colors[:, 3] = np.where(doubt, 0.15, 0.8)
    for faint in (True, False):
        for marker in np.unique(turns):
            part = (doubt == faint) & (turns == marker)
            width = 0 if MARKERS[marker] != "x" else 0.6
            axes.scatter(
                *points[part].T,
                s=size * GROWN[marker],
                c=colors[part],
                marker=MARKERS[marker],
                linewidths=width,
                rasterized=True,
            )
    axes.margins(0.03)
    return image


def point_size(points: int) -> float:
    """The area of a point, the smaller the more there are."""
    return float(np.clip(40_000 / max(1, points), 1.2, 18))


def shades(coloring: Coloring, look: Theme) -> tuple[NDArray[Any], Any]:
    """The color of each point, and the scale of amounts; None for categories."""
    values = coloring.values
    if coloring.categories:
        table = {int(number): to_rgba(color(int(number), look)) for number in np.unique(values)}
        return np.array([table[int(number)] for number in values]).reshape(-1, 4), None
    if coloring.scale == "angle":
        image = ScalarMappable(Normalize(0, 360), hues().with_extremes(bad=look.noise))
        return image.to_rgba(np.ma.masked_invalid(values)), image
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (1, 99)) if len(finite) else (1, 2)
    tones = ListedColormap(look.amounts(np.linspace(0.2, 1, 256)))  # lighter tones cannot be seen on the background
    scale = (LogNorm if coloring.scale == "log" else Normalize)(low, high if high > low else low + 1)
    image = ScalarMappable(scale, tones.with_extremes(bad=look.noise))
    return image.to_rgba(np.ma.masked_invalid(values)), image


def _coloring(
    atlas: Atlas, by: str, clustering: str | None, shape: tuple[int, ...], shown: NDArray[np.int64]
) -> Coloring:
    example, layer, head = np.unravel_index(shown, shape)
    statistics = list(atlas.array("stats").attrs["stats"])
    columns = atlas.table("examples").column_names
    if by == "cluster":
        return _by_cluster(atlas, atlas.needed("cluster", clustering), shown)
    if by == "layer":
        return Coloring("layer", layer.astype(float))
    if by == "head":
        return Coloring("head", head.astype(float), unit="number in its layer")
    if by.removeprefix("stat:") in statistics:
        declared = statistic(by.removeprefix("stat:"))
        values = atlas.read("stats", (..., statistics.index(declared.name))).reshape(-1)
        return Coloring(declared.label, values[shown], unit=declared.unit_text)
    if by == "n_tokens":
        lengths = atlas.table("examples", columns=[by])[by].to_numpy()
        return Coloring("length", lengths[example].astype(float), unit="tokens")
    if by in columns:
        return _by_column(by, atlas.table("examples", columns=[by])[by].to_pylist(), example)
    raise OptionError(
        f"--by {by}: choose cluster, layer, head, a statistic ({', '.join(statistics)}) "
        f"or a column of the examples ({', '.join(columns)})"
    )


def _by_cluster(atlas: Atlas, clustering: str, shown: NDArray[np.int64]) -> Coloring:
    all_labels = atlas.read("labels", of=clustering)
    labels, existing = all_labels.reshape(-1)[shown], all_labels[all_labels != schema.MISSING]
    named = given_names(atlas, clustering)
    shares = {number: float((existing == number).mean()) for number in named}
    order = sorted(
        (number for number in named if shares[number]), key=lambda number: (number < 0, -shares[number], number)
    )
    small = [number for number in order if number >= 0][LINES:]
    small = small if len(small) > 1 else []
    rows = [(number, named[number], percent(shares[number])) for number in order if number not in small]
    if small:
        labels = np.where(np.isin(labels, small), REST, labels)
        share = percent(sum(shares[number] for number in small))
        rows.insert(LINES, (REST, many(len(small), "smaller cluster"), share))
    return Coloring("cluster", labels, rows, note=f" ({clustering}), share of maps")


def _by_column(by: str, values: list[Any], place: NDArray[np.int64]) -> Coloring:
    """Numbers as amounts; anything else as categories, the nine most frequent and the rest in gray.

    `values` are those of examples; `place` says which of them each point has.
    """
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None):
        numbers = np.array([np.nan if value is None else value for value in values], float)
        return Coloring(by, numbers[place])
    words = ["(none)" if value is None else str(value) for value in values]
    kinds, counts = np.unique(words, return_counts=True)
    order = sorted(range(len(kinds)), key=lambda kind: (-counts[kind], kinds[kind]))[:9]
    codes = {str(kinds[kind]): code for code, kind in enumerate(order)}
    coded = np.array([codes.get(word, -1) for word in words])
    legend = [
        (code, word if len(word) < 40 else word[:38] + " …", percent(float((coded == code).mean())))
        for word, code in codes.items()
    ]
    others = len(kinds) - len(order)
    legend += [(-1, f"{others} others", percent(float((coded == -1).mean())))] if others else []
    return Coloring(by, coded[place], legend, note=", share of examples")
