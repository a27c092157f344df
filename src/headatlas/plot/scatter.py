"""All maps as points of the plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.atlas import schema, summaries
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.numeric.quantiles import Axis, axis
from headatlas.plot.style import GROWN, MARKERS, REST, SMALL, Page, colour, legend_height, turn
from headatlas.statistics import statistic
from headatlas.wording import count, faithful, many, method_name, percent, ratio

MOST = 200_000  # points drawn
DOUBT = 0.8  # points of less trust are faded
SIDE, LEGEND = 6.0, 3.1
EVENLY = "Equal steps of an axis hold equally many maps; ticks carry the projection's own values. "
STEPS = 8  # of a quantile axis, each with as many maps
LINES = 24  # clusters with a line of their own in the legend


@dataclass(frozen=True)
class Colouring:
    """What the points are coloured by: categories with their names, or amounts."""

    title: str
    values: NDArray[Any]
    categories: list[tuple[int, str, str]] = field(default_factory=list)
    unit: str = ""


def projection(
    atlas: Atlas,
    of: str | None = None,
    by: str = "cluster",
    clustering: str | None = None,
    dark: bool = False,
    quantile: bool = False,
    k: int = 100,
) -> Figure:
    """Every map as a point, by the projection called `of`; coloured by `cluster` (of `clustering`), `layer`, a
    statistic, or a column of the table `examples`. Points that cannot be trusted are faded. With `quantile` equal
    steps of an axis hold equally many maps, by `k` quantiles of all of them, and ticks carry the true values.
    """
    of = atlas.needed("project", of)
    position, trust = atlas.read("position", of=of), atlas.read("trust", of=of)
    shape = trust.shape
    there = np.flatnonzero(np.isfinite(position.reshape(-1, 2)).all(1))
    shown = np.random.default_rng(0).permutation(there)[:MOST]  # in no order, so that no group lies on top
    colouring = _colouring(atlas, by, clustering, shape, shown)
    facts = atlas.facts("project", of)
    points, doubt = position.reshape(-1, 2)[shown], trust.reshape(-1)[shown] < DOUBT
    both = [axis(column, k) for column in position.reshape(-1, 2)[there].T] if quantile else []
    rows = colouring.categories
    height = max(SIDE, 0.3 + legend_height(LEGEND, rows)) if rows else SIDE
    left = 0.45 if quantile else 0.15  # ticks need room
    page = Page(
        left + SIDE + 0.45 + LEGEND,
        height + (0.45 if quantile else 0.25),
        _sentence(of, facts, len(there), colouring.title.partition(" (")[0].partition(",")[0]),
        (EVENLY if quantile else "") + _note(facts, len(shown), len(there), doubt),
        dark,
    )
    axes = page.axes(left, 0, SIDE, SIDE, frame=True)
    image = _draw(axes, page, _placed(points, both), doubt, colouring)
    _axes(axes, page, facts, both)
    if rows:
        page.categories(left + SIDE + 0.45, 0, LEGEND, colouring.title, rows, points=True)
    else:
        page.scale(left + SIDE + 0.45, 0, image, colouring.title, colouring.unit, whole=by in ("layer", "head"))
    return page.figure


def _placed(points: NDArray[Any], both: list[Axis]) -> NDArray[Any]:
    """Points on quantile axes, if there are any."""
    return np.stack([one.forward(column) for one, column in zip(both, points.T, strict=True)], 1) if both else points


def _sentence(of: str, facts: dict[str, Any], maps: int, by: str) -> str:
    called = method_name(facts["method"]) + (f" ({of})" if of != facts["method"] else "")
    return f"{many(maps, 'map')} in the plane by {called}, colored by {by}: {faithful(facts['trustworthiness'])}"


def _note(facts: dict[str, Any], shown: int, there: int, doubt: NDArray[np.bool_]) -> str:
    note = "Each point is one map (one example, one head). "
    if shown < there:
        note += f"{count(shown)} of {count(there)} are drawn, chosen with a seed. "
    if facts["placed_trustworthiness"] is not None:
        note += f"{count(facts['sample'])} maps were fitted; the others were placed among them afterwards, with a "
        note += f"trustworthiness of {ratio(facts['placed_trustworthiness'])}. "
    if doubt.any():
        note += f"Faded points have a trust below {DOUBT} ({percent(float(doubt.mean()))} of those drawn): what lies "
        note += "around them is partly not alike. "
    return note + (
        "Trustworthiness is 1 if all neighbours seen are real, about 0.5 by chance. "
        f"Continuity {ratio(facts['continuity'])}: 1 if maps that are alike are all kept together."
    )


def _axes(axes: Any, page: Page, facts: dict[str, Any], both: list[Axis]) -> None:
    """Names; ticks only on quantile axes, whose values cannot be guessed. On linear ones distances mean the same across
    and upwards.
    """
    if both:
        for name, one in zip("xy", both, strict=True):
            getattr(axes, f"set_{name}ticks")(*one.ticks(STEPS + 1))
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
    called = method_name(facts["method"])
    axes.set_xlabel(f"{called} 1 (no unit: only which points are near means something)", size=SMALL)
    axes.set_ylabel(f"{called} 2", size=SMALL)


def _draw(axes: Any, page: Page, points: NDArray[Any], doubt: NDArray[np.bool_], colouring: Colouring) -> Any:
    """Points, the doubtful ones first and faint; categories beyond ten have marks of their own."""
    size = float(np.clip(40_000 / max(1, len(points)), 1.2, 18))
    values, look, image = colouring.values, page.look, None
    if colouring.categories:
        known = np.unique(values)
        table = {int(one): to_rgba(colour(int(one), look)) for one in known}
        colours = np.array([table[int(one)] for one in values]).reshape(-1, 4)
        turns = np.array([turn(int(one)) for one in values], int)
    else:
        finite = values[np.isfinite(values)]
        low, high = np.percentile(finite, (1, 99)) if len(finite) else (0, 1)
        tones = ListedColormap(look.amounts(np.linspace(0.2, 1, 256)))  # the faintest would vanish on the paper
        image = ScalarMappable(Normalize(low, high if high > low else low + 1), tones.with_extremes(bad=look.noise))
        colours, turns = image.to_rgba(np.ma.masked_invalid(values)), np.zeros(len(values), int)
    colours[:, 3] = np.where(doubt, 0.15, 0.8)
    for faint in (True, False):
        for one in np.unique(turns):
            part = (doubt == faint) & (turns == one)
            width = 0 if MARKERS[one] != "x" else 0.6
            axes.scatter(
                *points[part].T,
                s=size * GROWN[one],
                c=colours[part],
                marker=MARKERS[one],
                linewidths=width,
                rasterized=True,
            )
    axes.margins(0.03)
    return image


def _colouring(
    atlas: Atlas, by: str, clustering: str | None, shape: tuple[int, ...], shown: NDArray[np.int64]
) -> Colouring:
    example, layer, head = np.unravel_index(shown, shape)
    statistics = list(atlas.array("stats").attrs["stats"])
    columns = atlas.table("examples").column_names
    if by == "cluster":
        return _by_cluster(atlas, atlas.needed("cluster", clustering), shown)
    if by == "layer":
        return Colouring("layer", layer.astype(float))
    if by == "head":
        return Colouring("head", head.astype(float), unit="number in its layer")
    if by.removeprefix("stat:") in statistics:
        declared = statistic(by.removeprefix("stat:"))
        values = atlas.read("stats", (..., statistics.index(declared.name))).reshape(-1)
        return Colouring(declared.label, values[shown], unit=declared.unit_text)
    if by == "n_tokens":
        lengths = atlas.table("examples", columns=[by])[by].to_numpy()
        return Colouring("length", lengths[example].astype(float), unit="tokens")
    if by in columns:
        return _by_column(by, atlas.table("examples", columns=[by])[by].to_pylist(), example)
    raise OptionError(
        f"--by {by}: choose cluster, layer, head, a statistic ({', '.join(statistics)}) "
        f"or a column of the examples ({', '.join(columns)})"
    )


def _by_cluster(atlas: Atlas, clustering: str, shown: NDArray[np.int64]) -> Colouring:
    every = atlas.read("labels", of=clustering)
    labels, there = every.reshape(-1)[shown], every[every != schema.MISSING]
    named = summaries.names(atlas, clustering)
    counts = {number: float((there == number).mean()) for number in named}
    order = sorted((one for one in named if counts[one]), key=lambda one: (one < 0, -counts[one], one))
    small = [one for one in order if one >= 0][LINES:]
    small = small if len(small) > 1 else []
    rows = [(one, named[one], percent(counts[one])) for one in order if one not in small]
    if small:
        labels = np.where(np.isin(labels, small), REST, labels)
        share = percent(sum(counts[one] for one in small))
        rows.insert(LINES, (REST, many(len(small), "smaller cluster"), share))
    return Colouring(f"cluster ({clustering}), share of maps", labels, rows)


def _by_column(by: str, values: list[Any], example: NDArray[np.int64]) -> Colouring:
    """Numbers as amounts; anything else as categories, the nine most frequent and the rest in grey."""
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values if one is not None):
        numbers = np.array([np.nan if one is None else one for one in values], float)
        return Colouring(by, numbers[example])
    words = ["(none)" if one is None else str(one) for one in values]
    kinds, counts = np.unique(words, return_counts=True)
    order = sorted(range(len(kinds)), key=lambda one: (-counts[one], kinds[one]))[:9]
    codes = {str(kinds[one]): place for place, one in enumerate(order)}
    found = np.array([codes.get(word, -1) for word in words])
    legend = [
        (place, word if len(word) < 40 else word[:38] + " …", percent(float((found == place).mean())))
        for word, place in codes.items()
    ]
    others = len(kinds) - len(order)
    legend += [(-1, f"{others} others", percent(float((found == -1).mean())))] if others else []
    return Colouring(f"{by}, share of examples", found[example], legend)
