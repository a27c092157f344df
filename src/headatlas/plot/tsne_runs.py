"""Figures of the experiments with head t-SNE: KL by layer, and KL with and without a disturbance."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headatlas.plot.style import TEXT, Page, color
from headatlas.stages.tsne.layout_tables import STANDARD
from headatlas.stages.tsne.summary import compared, robust
from headatlas.wording import many


def compare(table: Any, dark: bool = False) -> Figure:
    """Draw box plots of KL by layer: head t-SNE beside standard t-SNE of the hidden states.

    >>> import pyarrow as pa
    >>> runs = {"example": [0] * 4, "layer": [1] * 4, "head": [3, 3, -1, -1], "kl": [0.5, 0.7, 0.2, 0.2]}
    >>> compare(pa.table(runs)).axes[0].get_ylabel()
    'KL'

    Parameters
    ----------
    table
        The table `layout_runs`, as `tsne.compare` returns it.
    dark
        Light on dark.

    Returns
    -------
    Figure
        Its title says in how many layers heads have the higher median.
    """
    rows = compared(table).to_pylist()
    middle = {(row["layer"], row["kind"]): row["kl_median"] for row in rows}
    layers = sorted({layer for layer, _ in middle})
    higher = [index for index in layers if middle.get((index, "head"), -1) > middle.get((index, "standard"), np.inf)]
    title = f"Head t-SNE has the higher median KL in {len(higher)} of {many(len(layers), 'layer')}"
    note = "Boxes hold the middle half of all runs, heads and texts; whiskers reach 1.5 times as far; dots lie beyond."
    return _boxes(table, layers, title, note, dark)


def _boxes(table: Any, layers: list[int], title: str, note: str, dark: bool) -> Figure:
    page = Page(max(5.0, 0.55 * len(layers) + 1.2), 3.4, title, note, dark)
    box = page.axes(0.55, 0.3, page.width - 0.7 - 0.55, 2.7, frame=True)
    head, layer, kl = (table[name].to_numpy() for name in ("head", "layer", "kl"))
    for number, (name, kind) in enumerate((("head t-SNE", head != STANDARD), ("standard t-SNE", head == STANDARD))):
        values = [kl[kind & (layer == index) & np.isfinite(kl)] for index in layers]
        boxes = box.boxplot(
            values, positions=np.arange(len(layers)) + 0.36 * number - 0.18, widths=0.3, patch_artist=True,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": page.look.muted}, manage_ticks=False,
        )  # fmt: skip
        for part in boxes["boxes"]:
            part.set(facecolor=color(number, page.look), linewidth=0)
        for part in (*boxes["whiskers"], *boxes["caps"], *boxes["medians"]):
            part.set(color=page.look.ink, linewidth=0.7)
        _key(page, number, name)
    box.set_xticks(range(len(layers)), [f"L{index}" for index in layers])
    box.set_ylabel("KL", size=TEXT)
    box.set_ylim(0)
    return page.figure


def _key(page: Page, number: int, name: str) -> None:
    """What a color stands for."""
    page.text(0.55 + 1.6 * number, 0, "■", color=color(number, page.look), size=TEXT)
    page.text(0.55 + 1.6 * number + 0.16, 0, name, size=TEXT)


def robustness(table: Any, dark: bool = False) -> Figure:
    """Draw mean and deviation of KL without and with disturbance, by layer, for both kinds of t-SNE.

    >>> import pyarrow as pa
    >>> runs = {"example": [0] * 8, "layer": [1] * 8, "head": [3, -1] * 4, "kl": [5, 2, 7, 2, 4, 3, 8, 2]}
    >>> len(robustness(pa.table(runs | {"disturbed": [False] * 4 + [True] * 4})).axes)
    2

    Parameters
    ----------
    table
        The table `layout_runs`, as `tsne.robustness` returns it.
    dark
        Light on dark.

    Returns
    -------
    Figure
        Its title says in how many layers the deviation of heads grows by the smaller factor.
    """
    rows = robust(table).to_pylist()
    growth = {(row["layer"], row["kind"]): row["deviation_growth"] for row in rows}
    layers = sorted({layer for layer, _ in growth})
    less = [index for index in layers if growth.get((index, "head"), np.inf) < growth.get((index, "standard"), -1)]
    what = f"in {len(less)} of {many(len(layers), 'layer')}"
    title = (
        f"Under disturbance the deviation of head t-SNE grows by a smaller factor than that of standard t-SNE {what}"
    )
    note = "Over all runs of a text and head. Circles are the original text, diamonds the text with tokens replaced."
    wide, beside = max(3.6, 0.33 * len(layers)), len(layers) <= 12
    page = Page(2 * wide + 1.6 if beside else wide + 0.8, 3.6 if beside else 6.9, title, note, dark)
    for place, (value, name) in enumerate((("mean", "mean of KL"), ("deviation", "deviation of KL"))):
        left, top = (0.55 + place * (wide + 0.8), 0.22) if beside else (0.55, 0.22 + 3.4 * place)
        box = page.axes(left, top + 0.23, wide, 2.75, frame=True)
        page.text(left, top, name, size=TEXT, color=page.look.muted)
        for number, kind in enumerate(("head", "standard")):
            of_kind = [row for row in rows if row["kind"] == kind]
            x = np.array([layers.index(row["layer"]) for row in of_kind]) + 0.3 * number - 0.15
            ends = [[row[f"{value}_{state}"] for row in of_kind] for state in ("without", "with")]
            box.vlines(x, *ends, color=color(number, page.look), lw=1.2)
            for mark, end in zip("oD", ends, strict=True):
                box.plot(x, end, mark, ms=3.2, color=color(number, page.look), clip_on=False)
            _key(page, number, f"{kind} t-SNE")
        box.set_xticks(range(len(layers)), [f"L{index}" for index in layers])
        box.set_ylim(0)
    return page.figure
