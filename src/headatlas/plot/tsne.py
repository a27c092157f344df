"""Figures of head t-SNE: all heads as small pictures, one head with its words, and maximum attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.numeric.quantiles import axis
from headatlas.plot.style import SMALL, Page, color
from headatlas.plot.tsne_runs import compare, robustness
from headatlas.stages.tsne.activity import Activity
from headatlas.stages.tsne.heads import Layouts
from headatlas.stages.tsne.hidden import States
from headatlas.wording import amount, head_name, many

__all__ = ["activity", "compare", "head", "layouts", "robustness", "states"]


def __dir__() -> list[str]:
    return sorted(__all__)


CELL, ROW = 0.95, 1.22  # inches of a thumbnail, and of a row of them
ORDERS = ("layer", "kl")
GAP, MOST_WORDS = 0.14, 120  # inches between layers; tokens that fit side by side
EQUAL = "Axes hold equally many points in equal steps; ticks are the true values."


def layouts(result: Layouts, order: str = "layer", dark: bool = False) -> Figure:
    """Draw all layouts of a text as small pictures.

    >>> from headatlas import plot, tsne
    >>> cat = tsne.heads("packaged", "The cat sat on the mat.", heads="L0", restarts=1)
    >>> len(plot.tsne.layouts(cat, order="kl").axes)
    12

    Parameters
    ----------
    result
        What `tsne.heads` returns.
    order
        "layer", or "kl" for the head with the least KL first.
    dark
        Light on dark.

    Returns
    -------
    Figure
        One picture per head; color is the place of a token in the text.
    """
    if order not in ORDERS:
        raise OptionError(f"order {order!r}: choose {' or '.join(ORDERS)}")
    heads = sorted(result.layouts) if order == "layer" else sorted(result.layouts, key=lambda head: _kl(result, head))
    wide = max(6, min(12, max(sum(head[0] == layer for head in heads) for layer in {head[0] for head in heads})))
    places = _places(heads, wide, order == "layer")
    rows = max(row for row, _ in places.values()) + 1
    known = [head for head in heads if np.isfinite(_kl(result, head))]
    low = min(known, key=lambda head: _kl(result, head), default=None)
    title = f"{many(len(heads), 'head')} of {result.model} on one text" + (
        f": {head_name(*low)} fits the plane best (KL {amount(_kl(result, low))})" if low else ""
    )
    note = "Each point is a token, colored from the first to the last; near means attention. Layouts are rotated alike."
    page = Page(wide * (CELL + 0.12), rows * ROW, title, f"{note} {' '.join(_sentences(result.remarks))}", dark)
    for head in heads:
        row, column = places[head]
        page.text(column * (CELL + 0.12), row * ROW, f"{head_name(*head)}  {amount(_kl(result, head))}", size=SMALL)
        box = page.axes(column * (CELL + 0.12), row * ROW + 0.16, CELL, CELL)
        _thumbnail(box, result.layouts[head], page)
    return page.figure


def _kl(result: Layouts, head: tuple[int, int]) -> float:
    return float(result.kl[head].min())


def _sentences(remarks: tuple[str, ...]) -> list[str]:
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def _places(heads: list[tuple[int, int]], wide: int, by_layer: bool) -> dict[tuple[int, int], tuple[int, int]]:
    """Row and column of each head; by layer, a layer begins a row."""
    places, row, column, before = {}, 0, 0, heads[0][0]
    for head in heads:
        if column == wide or (by_layer and head[0] != before):
            row, column = row + 1, 0
        places[head], column, before = (row, column), column + 1, head[0]
    return places


def _tones(page: Page) -> ListedColormap:
    """Colors of an amount without the faintest, which would be invisible on the background."""
    return ListedColormap(page.look.amounts(np.linspace(0.25, 1, 256)))


def _thumbnail(box: Any, layout: NDArray[np.float32], page: Page) -> None:
    box.set(xticks=[], yticks=[])
    if np.isfinite(layout).all() and len(layout):
        order = np.arange(len(layout))
        box.plot(*layout.T, color=page.look.hairline, linewidth=0.3, zorder=1)
        box.scatter(*layout.T, s=3.5, c=order, cmap=_tones(page), linewidths=0, zorder=2, rasterized=True)
        box.margins(0.05)
        box.set_aspect("equal", adjustable="datalim")
    else:
        box.text(0.5, 0.5, "nothing", ha="center", va="center", size=SMALL, color=page.look.muted)


def head(layouts: Layouts, layer: int, number: int, quantile: bool = False, k: int = 100, dark: bool = False) -> Figure:
    """Draw the layout of one head with its words.

    >>> from headatlas import plot, tsne
    >>> cat = tsne.heads("packaged", "The cat sat on the mat.", heads="L0·H2", restarts=1)
    >>> plot.tsne.head(cat, 0, 2, quantile=True).axes[0].get_aspect()
    'auto'

    Parameters
    ----------
    layouts
        What `tsne.heads` returns.
    layer, number
        The head.
    quantile, k
        Whether axes are quantile-equidistant, and with how many quantiles: equal steps hold equally many points.
    dark
        Light on dark.

    Returns
    -------
    Figure
        Queries of cross attention in one color, its keys in another.
    """
    layout, points = layouts.layout(layer, number), layouts.points[layer]
    if not np.isfinite(layout).all():
        raise OptionError(f"{head_name(layer, number)}: {'; '.join(layouts.notes[layer, number])}")
    kl = amount(layouts.best(layer, number))
    title = f"The text as {head_name(layer, number)} of {layouts.model} sees it (KL {kl})"
    unit = EQUAL if quantile else ""
    notes = _sentences(layouts.notes[layer, number] + layouts.remarks)
    page = Page(7.2, 5.6, title, " ".join(["Near means attention.", unit, *notes]).strip(), dark)
    _words(page, layout, points.text, [color(0 if query else 1, page.look) for query in points.query], quantile, k)
    return page.figure


def states(states: States, layer: int, quantile: bool = False, k: int = 100, dark: bool = False) -> Figure:
    """Draw standard t-SNE of the hidden states of a layer, or of a list of words.

    >>> from headatlas import plot, tsne
    >>> jobs = tsne.words("packaged", ["nurse", "baker", "pilot", "judge", "smith", "clown"], layers=[5])
    >>> sorted(text.get_text() for text in plot.tsne.states(jobs, 5).axes[0].texts)[:2]
    ['baker', 'clown']

    Parameters
    ----------
    states
        What `tsne.hidden` or `tsne.words` returns.
    layer
        The layer.
    quantile, k, dark
        As `plot.tsne.head` takes them.

    Returns
    -------
    Figure
        One point per token or word.
    """
    layout, kl = states.layout(layer), states.kl[layer].min()
    points = many(len(layout), "point")
    title = f"{points} as layer {layer} of {states.model} holds them" + (
        f" (KL {amount(kl)})" if np.isfinite(kl) else ""
    )
    notes = [
        "Near means alike hidden states: standard t-SNE.",
        EQUAL if quantile else "",
        *_sentences(states.notes[layer]),
    ]
    page = Page(7.2, 5.6, title, " ".join(filter(None, notes)), dark)
    _words(page, layout, states.points[layer], [color(0, page.look)] * len(layout), quantile, k)
    return page.figure


def _words(
    page: Page, layout: NDArray[np.float32], words: list[str], colors: list[Any], quantile: bool, k: int
) -> None:
    """Points with their words beside them, where there is room."""
    box = page.axes(0.3, 0, 6.8, 5.3, frame=True)
    shown = layout.astype(np.float64)
    if quantile:
        axes = [axis(column, k) for column in layout.T]
        shown = np.stack([scale.forward(column) for scale, column in zip(axes, layout.T, strict=True)], 1)
        for scale, name in zip(axes, "xy", strict=True):
            places, labels = scale.ticks()
            getattr(box, f"set_{name}ticks")(places, labels)
    else:
        box.set_aspect("equal", adjustable="datalim")
    box.scatter(shown[:, 0], shown[:, 1], s=7, c=colors, linewidths=0, zorder=2)
    box.margins(0.06)
    _labels(box, page, shown, words)


SIDES = ((3, 3, "left", "bottom"), (3, -3, "left", "top"), (-3, 3, "right", "bottom"), (-3, -3, "right", "top"))


def _labels(box: Any, page: Page, shown: NDArray[np.float64], words: list[str]) -> None:
    """Words beside their points where there is room: on one of four sides, else not at all."""
    page.figure.draw_without_rendering()  # fixes the scale
    at = box.transData.transform(shown) * 72 / page.figure.dpi
    taken: list[tuple[float, float, float, float]] = [(x - 2, y - 2, x + 2, y + 2) for x, y in at]
    for (x, y), place, word in zip(at, shown, words, strict=True):
        wide, high = 0.6 * SMALL * len(word), SMALL * 1.1
        for dx, dy, ha, va in SIDES:
            left, low = (x + dx if dx > 0 else x + dx - wide), (y + dy if dy > 0 else y + dy - high)
            area = (left, low, left + wide, low + high)
            if not any(_touch(area, other) for other in taken):
                options: dict[str, Any] = {"ha": ha, "va": va, "size": SMALL, "color": page.look.ink}
                box.annotate(word, place, (dx, dy), textcoords="offset points", parse_math=False, **options)
                taken.append(area)
                break


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def activity(active: Activity, dark: bool = False) -> Figure:
    """Draw maximum attention: one row per head, grouped by layer, one column per token.

    >>> from headatlas import plot, tsne
    >>> figure = plot.tsne.activity(tsne.activity("packaged", "The cat sat on the mat."))

    Parameters
    ----------
    active
        What `tsne.activity` returns.
    dark
        Light on dark.

    Returns
    -------
    Figure
        Its title names the most active head and the head with the longest chain.
    """
    first = active.ranked("activity")[0]
    longest = active.ranked("chain")[0]
    chain = f"longest chain, {many(longest['chain'], 'step')}"
    same = (first["layer"], first["head"]) == (longest["layer"], longest["head"])
    title = f"{head_name(first['layer'], first['head'])} is the most active head of {active.model} on this text" + (
        f" and has the {chain}" if same else f"; the {chain}, is that of {head_name(longest['layer'], longest['head'])}"
    )
    note = "Color is the largest attention each token gets from any token, from 0 to 1. Heads run down, tokens across."
    heights = {layer: 0.1 * len(rows) for layer, rows in active.maximum.items()}
    above = {layer: _room(active.keys[layer], layer == min(heights)) for layer in heights}
    page = Page(9.0, sum(heights.values()) + sum(above.values()) + 0.7, title, note, dark)
    top = 0.0
    for layer, rows in active.maximum.items():
        top += above[layer]
        box = page.axes(0.55, top, 8.45, heights[layer])
        box.imshow(rows, cmap=page.look.amounts, vmin=0, vmax=1, aspect="auto", interpolation="none")
        box.set_yticks(range(0, len(rows), 3), [f"H{head}" for head in range(0, len(rows), 3)], size=5)
        box.set_xticks([])
        if above[layer] > GAP:
            box.xaxis.tick_top()
            words = [_short(word) for word in active.keys[layer]]
            box.set_xticks(range(len(words)), words, size=5, rotation=90, parse_math=False)
        page.text(0, top + heights[layer] / 2, f"L{layer}", size=SMALL, va="center")
        top += heights[layer]
    scale = ScalarMappable(Normalize(0, 1), page.look.amounts)
    page.scale(0.55, top + 0.2, scale, "maximum attention")
    return page.figure


def _room(words: list[str], first: bool) -> float:
    """Inches above a layer: room for tokens above the first one, if they fit side by side."""
    if not first or len(words) > MOST_WORDS:
        return GAP
    return 0.05 + 0.043 * max((len(_short(word)) for word in words), default=0)


def _short(word: str) -> str:
    word = word.strip()
    return word if len(word) <= 14 else f"{word[:13]}…"
