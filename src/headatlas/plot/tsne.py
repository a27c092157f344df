"""Figures of head t-SNE: all heads as small pictures, one head with its words, maximum attention, and experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.numeric.quantiles import axis
from headatlas.plot.style import SMALL, TEXT, Page, color
from headatlas.progress import many
from headatlas.stages.tsne.activity import Activity
from headatlas.stages.tsne.heads import Layouts
from headatlas.stages.tsne.hidden import States
from headatlas.stages.tsne.summary import STANDARD, compared, robust
from headatlas.wording import amount

CELL, ROW = 0.95, 1.22  # inches of a thumbnail, and of a row of them
ORDERS = ("layer", "kl")
GAP, MOST_WORDS = 0.14, 120  # inches between layers; tokens that can be written beside one another
EQUAL = "Axes hold equally many points in equal steps; ticks are the true values."


def layouts(found: Layouts, order: str = "layer", dark: bool = False) -> Figure:
    """All layouts of a text as small pictures, by layer or by KL; colour is the place of a token in the text."""
    if order not in ORDERS:
        raise OptionError(f"order {order!r}: choose {' or '.join(ORDERS)}")
    heads = sorted(found.layouts) if order == "layer" else sorted(found.layouts, key=lambda one: _kl(found, one))
    wide = max(6, min(12, max(sum(one[0] == layer for one in heads) for layer in {one[0] for one in heads})))
    places = _places(heads, wide, order == "layer")
    rows = max(row for row, _ in places.values()) + 1
    known = [one for one in heads if np.isfinite(_kl(found, one))]
    low = min(known, key=lambda one: _kl(found, one), default=None)
    title = f"{many(len(heads), 'head')} of {found.model} on one text" + (
        f": L{low[0]}·H{low[1]} fits the plane best (KL {amount(_kl(found, low))})" if low else ""
    )
    note = "Each point is a token, coloured from the first to the last; near means attention. Layouts are turned alike."
    page = Page(wide * (CELL + 0.12), rows * ROW, title, f"{note} {' '.join(_sentences(found.remarks))}", dark)
    for one in heads:
        row, column = places[one]
        page.text(column * (CELL + 0.12), row * ROW, f"L{one[0]}·H{one[1]}  {amount(_kl(found, one))}", size=SMALL)
        box = page.axes(column * (CELL + 0.12), row * ROW + 0.16, CELL, CELL)
        _thumbnail(box, found.layouts[one], page)
    return page.figure


def _kl(found: Layouts, one: tuple[int, int]) -> float:
    return float(found.kl[one].min())


def _sentences(remarks: tuple[str, ...]) -> list[str]:
    return [f"{one[0].upper()}{one[1:]}." for one in remarks]


def _places(heads: list[tuple[int, int]], wide: int, by_layer: bool) -> dict[tuple[int, int], tuple[int, int]]:
    """Row and column of each head; by layer, a layer begins a row."""
    found, row, column, before = {}, 0, 0, heads[0][0]
    for one in heads:
        if column == wide or (by_layer and one[0] != before):
            row, column = row + 1, 0
        found[one], column, before = (row, column), column + 1, one[0]
    return found


def _tones(page: Page) -> ListedColormap:
    """Colours of an amount without the faintest, which would vanish on the paper."""
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


def head(found: Layouts, layer: int, number: int, quantile: bool = False, k: int = 100, dark: bool = False) -> Figure:
    """One head's layout with its words; with `quantile` on axes whose equal steps hold equally many points."""
    layout, points = found.layout(layer, number), found.points[layer]
    if not np.isfinite(layout).all():
        raise OptionError(f"L{layer}·H{number}: {'; '.join(found.notes[layer, number])}")
    title = f"The text as L{layer}·H{number} of {found.model} sees it (KL {amount(found.best(layer, number))})"
    unit = EQUAL if quantile else ""
    notes = _sentences(found.notes[layer, number] + found.remarks)
    page = Page(7.2, 5.6, title, " ".join(["Near means attention.", unit, *notes]).strip(), dark)
    _words(page, layout, points.text, [color(0 if query else 1, page.look) for query in points.query], quantile, k)
    return page.figure


def states(found: States, layer: int, quantile: bool = False, k: int = 100, dark: bool = False) -> Figure:
    """Standard t-SNE of the hidden states of a layer, or of a list of words, with its words."""
    layout, kl = found.layout(layer), found.kl[layer].min()
    points = many(len(layout), "point")
    title = f"{points} as layer {layer} of {found.model} holds them" + (
        f" (KL {amount(kl)})" if np.isfinite(kl) else ""
    )
    notes = [
        "Near means alike hidden states: standard t-SNE.",
        EQUAL if quantile else "",
        *_sentences(found.notes[layer]),
    ]
    page = Page(7.2, 5.6, title, " ".join(filter(None, notes)), dark)
    _words(page, layout, found.points[layer], [color(0, page.look)] * len(layout), quantile, k)
    return page.figure


def _words(
    page: Page, layout: NDArray[np.float32], words: list[str], colours: list[Any], quantile: bool, k: int
) -> None:
    """Points with their words beside them, where there is room."""
    box = page.axes(0.3, 0, 6.8, 5.3, frame=True)
    shown = layout.astype(np.float64)
    if quantile:
        both = [axis(column, k) for column in layout.T]
        shown = np.stack([one.forward(column) for one, column in zip(both, layout.T, strict=True)], 1)
        for one, name in zip(both, "xy", strict=True):
            places, labels = one.ticks()
            getattr(box, f"set_{name}ticks")(places, labels)
    else:
        box.set_aspect("equal", adjustable="datalim")
    box.scatter(shown[:, 0], shown[:, 1], s=7, c=colours, linewidths=0, zorder=2)
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


def activity(found: Activity, dark: bool = False) -> Figure:
    """Maximum attention: a row a head, layers below one another, a column a token."""
    first = found.ranked("activity")[0]
    longest = found.ranked("chain")[0]
    chain = f"longest chain, {many(longest['chain'], 'step')}"
    same = (first["layer"], first["head"]) == (longest["layer"], longest["head"])
    title = f"L{first['layer']}·H{first['head']} is the most active head of {found.model} on this text" + (
        f" and has the {chain}" if same else f"; the {chain}, is that of L{longest['layer']}·H{longest['head']}"
    )
    note = "Colour is the largest attention each token gets from any token, from 0 to 1. Heads run down, tokens across."
    heights = {layer: 0.1 * len(rows) for layer, rows in found.maximum.items()}
    above = {layer: _room(found.keys[layer], layer == min(heights)) for layer in heights}
    page = Page(9.0, sum(heights.values()) + sum(above.values()) + 0.7, title, note, dark)
    top = 0.0
    for layer, rows in found.maximum.items():
        top += above[layer]
        box = page.axes(0.55, top, 8.45, heights[layer])
        box.imshow(rows, cmap=page.look.amounts, vmin=0, vmax=1, aspect="auto", interpolation="none")
        box.set_yticks(range(0, len(rows), 3), [f"H{head}" for head in range(0, len(rows), 3)], size=5)
        box.set_xticks([])
        if above[layer] > GAP:
            box.xaxis.tick_top()
            words = [_short(word) for word in found.keys[layer]]
            box.set_xticks(range(len(words)), words, size=5, rotation=90, parse_math=False)
        page.text(0, top + heights[layer] / 2, f"L{layer}", size=SMALL, va="center")
        top += heights[layer]
    scale = ScalarMappable(Normalize(0, 1), page.look.amounts)
    page.scale(0.55, top + 0.2, scale, "maximum attention")
    return page.figure


def _room(words: list[str], first: bool) -> float:
    """Inches above a layer: for its tokens above the first, if they fit beside one another."""
    if not first or len(words) > MOST_WORDS:
        return GAP
    return 0.05 + 0.043 * max((len(_short(word)) for word in words), default=0)


def _short(word: str) -> str:
    word = word.strip()
    return word if len(word) <= 14 else f"{word[:13]}…"


def compare(table: Any, dark: bool = False) -> Figure:
    """Box plots of KL by layer: head t-SNE beside standard t-SNE of the hidden states."""
    rows = compared(table).to_pylist()
    middle = {(row["layer"], row["kind"]): row["kl_median"] for row in rows}
    layers = sorted({layer for layer, _ in middle})
    higher = [one for one in layers if middle.get((one, "head"), -1) > middle.get((one, "standard"), np.inf)]
    title = f"Head t-SNE has the higher median KL in {len(higher)} of {many(len(layers), 'layer')}"
    note = "Boxes hold the middle half of all runs, heads and texts; whiskers reach 1.5 times as far; dots lie beyond."
    return _boxes(table, layers, title, note, dark)


def _boxes(table: Any, layers: list[int], title: str, note: str, dark: bool) -> Figure:
    page = Page(max(5.0, 0.55 * len(layers) + 1.2), 3.4, title, note, dark)
    box = page.axes(0.55, 0.3, page.width - 0.7 - 0.55, 2.7, frame=True)
    head, layer, kl = (table[name].to_numpy() for name in ("head", "layer", "kl"))
    for number, (name, own) in enumerate((("head t-SNE", head != STANDARD), ("standard t-SNE", head == STANDARD))):
        values = [kl[own & (layer == one) & np.isfinite(kl)] for one in layers]
        made = box.boxplot(
            values, positions=np.arange(len(layers)) + 0.36 * number - 0.18, widths=0.3, patch_artist=True,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": page.look.muted}, manage_ticks=False,
        )  # fmt: skip
        for part in made["boxes"]:
            part.set(facecolor=color(number, page.look), linewidth=0)
        for part in (*made["whiskers"], *made["caps"], *made["medians"]):
            part.set(color=page.look.ink, linewidth=0.7)
        _key(page, number, name)
    box.set_xticks(range(len(layers)), [f"L{one}" for one in layers])
    box.set_ylabel("KL", size=TEXT)
    box.set_ylim(0)
    return page.figure


def _key(page: Page, number: int, name: str) -> None:
    """What a colour stands for."""
    page.text(0.55 + 1.6 * number, 0, "■", color=color(number, page.look), size=TEXT)
    page.text(0.55 + 1.6 * number + 0.16, 0, name, size=TEXT)


def robustness(table: Any, dark: bool = False) -> Figure:
    """Mean and deviation of KL without and with disturbance, by layer, for both kinds of t-SNE."""
    rows = robust(table).to_pylist()
    growth = {(row["layer"], row["kind"]): row["deviation_growth"] for row in rows}
    layers = sorted({layer for layer, _ in growth})
    less = [one for one in layers if growth.get((one, "head"), np.inf) < growth.get((one, "standard"), -1)]
    what = f"in {len(less)} of {many(len(layers), 'layer')}"
    title = (
        f"Under disturbance the deviation of head t-SNE grows by a smaller factor than that of standard t-SNE {what}"
    )
    note = "Over all runs of a text and head. Circles are the text as it is, diamonds the text with tokens replaced."
    wide, beside = max(3.6, 0.33 * len(layers)), len(layers) <= 12
    page = Page(2 * wide + 1.6 if beside else wide + 0.8, 3.6 if beside else 6.9, title, note, dark)
    for place, (value, name) in enumerate((("mean", "mean of KL"), ("deviation", "deviation of KL"))):
        left, top = (0.55 + place * (wide + 0.8), 0.22) if beside else (0.55, 0.22 + 3.4 * place)
        box = page.axes(left, top + 0.23, wide, 2.75, frame=True)
        page.text(left, top, name, size=TEXT, color=page.look.muted)
        for number, kind in enumerate(("head", "standard")):
            own = [row for row in rows if row["kind"] == kind]
            x = np.array([layers.index(row["layer"]) for row in own]) + 0.3 * number - 0.15
            ends = [[row[f"{value}_{state}"] for row in own] for state in ("without", "with")]
            box.vlines(x, *ends, color=color(number, page.look), lw=1.2)
            for mark, end in zip("oD", ends, strict=True):
                box.plot(x, end, mark, ms=3.2, color=color(number, page.look), clip_on=False)
            _key(page, number, f"{kind} t-SNE")
        box.set_xticks(range(len(layers)), [f"L{one}" for one in layers])
        box.set_ylim(0)
    return page.figure
