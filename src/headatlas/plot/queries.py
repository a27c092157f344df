"""Queries and keys of one head in one space."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.plot.qk_colors import KIND, coloring_of
from headatlas.plot.scatter import DOUBT, LEGEND, SIDE, Coloring, point_size, shades
from headatlas.plot.style import SMALL, TEXT, Page, color, legend_height
from headatlas.wording import head_name, many, method_name, percent, ratio

MARKS = ("o", "x")  # of queries and of keys
ROOM = 0.55  # above the legend of colors, for that of marks
GRAY = {"angle": "gray: special tokens, and patches without a hue"}


def qk(
    atlas: AtlasLike,
    head: str | tuple[int, int],
    *,
    of: str | None = None,
    by: str = KIND,
    dark: bool = False,
) -> Figure:
    """Plot the queries and keys of one head in one space: a query lies near the keys it attends to.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://plot-qk.atlas")
    >>> points = ha.qk.embed(atlas, "pca")
    >>> figure = ha.plot.qk(atlas, "L0·H2", by="position")

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with queries and keys that `qk.embed` drew.
    head : str or (int, int)
        The head: "L3·H10", or its layer and its number.
    of : str, optional
        Name of the result; by default the latest.
    by : str
        What colors a point: `kind` (query or key), `norm`, or a column of the table `qk_points`.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("qk", of)
    layer, number = _chosen(atlas, head)
    position, trust, norm = (
        atlas.read(name, (layer, number), of) for name in ("qk_position", "qk_trust", "qk_norm")
    )  # fmt: skip
    exists = np.flatnonzero(np.isfinite(position).all(1))
    shown = np.random.default_rng(0).permutation(exists)  # shuffled, so that neither kind covers the other
    coloring = coloring_of(atlas, of, by, norm, shown)
    rows, facts = coloring.categories, _row(atlas, of, layer, number)
    height = max(SIDE, ROOM + 0.3 + legend_height(LEGEND, rows))
    doubt = trust[shown] < DOUBT
    page = Page(
        0.15 + SIDE + 0.45 + LEGEND, height + 0.25, _title(layer, number, facts), _note(atlas, of, facts, doubt), dark
    )
    axes = page.axes(0.15, 0, SIDE, SIDE, frame=True)
    image = _draw(axes, page, position[shown, :2], shown >= len(position) // 2, doubt, coloring)
    _label(axes, atlas.facts("qk", of)["method"])
    _legend(page, 0.15 + SIDE + 0.45, by, coloring, image)
    return page.figure


def _legend(page: Page, left: float, by: str, coloring: Coloring, image: Any) -> None:
    """The marks of queries and keys, and below them the colors."""
    canvas = page.canvas(left, 0, LEGEND, 0.3)
    for number, (mark, name) in enumerate(zip(MARKS, ("query", "key"), strict=True)):
        tone = color(number, page.look) if by == KIND else page.look.ink
        x = 0.075 + number
        canvas.scatter(x, 0.085, s=26, color=tone, marker=mark, linewidths=1.2 if mark == "x" else 0, clip_on=False)
        canvas.text(x + 0.155, 0.13, name, color=page.look.ink, va="baseline", size=TEXT)
    if by == KIND:
        return
    if coloring.categories:
        page.categories(left, ROOM, LEGEND, coloring.title, coloring.categories)
        return
    values = coloring.values[np.isfinite(coloring.values)]
    page.scale(left, ROOM, image, coloring.title, coloring.unit, integer=bool((values == values.round()).all()))
    if len(values) < len(coloring.values):
        gray = GRAY.get(coloring.scale, "gray: special tokens")
        page.text(left, ROOM + 0.75, gray, color=page.look.muted, size=SMALL)


def _chosen(atlas: Atlas, head: str | tuple[int, int]) -> tuple[int, int]:
    """Layer and number of a head that exists."""
    from headatlas.stages.tsne.choice import choose_heads, layers_of  # which imports torch

    chosen = choose_heads(atlas.header["model"]["name"], layers_of(atlas), head)
    if len(chosen) > 1:
        raise OptionError(f"head {head!r}: this figure shows one head, such as L3·H10")
    return chosen[0]


def _row(atlas: Atlas, of: str, layer: int, head: int) -> dict[str, Any]:
    rows: list[dict[str, Any]] = atlas.table("qk_heads", of).to_pylist()
    return next(row for row in rows if (row["layer"], row["head"]) == (layer, head))


def _draw(
    axes: Any, page: Page, points: NDArray[Any], keys: NDArray[np.bool_], doubt: NDArray[np.bool_], coloring: Coloring
) -> Any:
    """Draw the points, untrusted ones first and faded; returns the scale of amounts."""
    colors, image = shades(coloring, page.look)
    colors[:, 3] = np.where(doubt, 0.15, 0.8)
    size = point_size(len(points))
    for faint in (True, False):
        for are_keys, mark in zip((False, True), MARKS, strict=True):
            part = (doubt == faint) & (keys == are_keys)
            axes.scatter(
                *points[part].T, s=size * (1.4 if are_keys else 1), c=colors[part], marker=mark,
                linewidths=0.6 if are_keys else 0, rasterized=True,
            )  # fmt: skip
    axes.margins(0.03)
    return image


def _label(axes: Any, method: str) -> None:
    name = method_name(method)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(f"{name} 1", size=SMALL)
    axes.set_ylabel(f"{name} 2", size=SMALL)


def _title(layer: int, head: int, facts: dict[str, Any]) -> str:
    """Title: how far nearness means attention, and how far the plot can be trusted."""
    mirrors = f"distance mirrors attention with a correlation of {ratio(facts['spearman'])}"
    if facts["note"]:
        mirrors = f"distance need not mirror attention ({facts['note']})"
    return f"{head_name(layer, head)}: {mirrors}; trustworthiness of the plot {ratio(facts['trust'])}"


def _note(atlas: Atlas, of: str, facts: dict[str, Any], doubt: NDArray[np.bool_]) -> str:
    drawn = atlas.facts("qk", of)
    note = f"Queries and keys of {many(drawn['tokens'], 'token')} of {many(drawn['examples'], 'example')}, moved into "
    note += f"one space without changing any attention map, drawn by {method_name(drawn['method'])}. "
    note += "The correlation is Spearman's, of distances with products over "
    note += "all pairs of a query and a key: −1 if the nearest key always has the largest product. "
    if drawn["dims"] == 3:
        note += "The first two of three axes are shown. "
    if doubt.any():
        note += f"Faded points ({percent(float(doubt.mean()))}) have a trust below {DOUBT}. "
    return note + f"{percent(facts['kept'])} of the true neighbors of a point are its neighbors on the plot."
