"""Curves over the parameter of a clustering: how stable, how separate, how much noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import DamagedChunk, StoreError
from headatlas.plot.style import SMALL, TEXT, Page
from headatlas.wording import ratio

MEASURES = {"stability": "stability", "silhouette": "silhouette", "noise": "share of noise"}
PARAMETERS = {"k": "k (number of clusters)", "eps": "eps (radius)", "min_cluster_size": "smallest cluster (maps)"}
WIDE, TALL, GAP = 2.7, 1.5, 0.75
STABILITY = (
    "Stability is the mean adjusted Rand index between clusterings of bootstrap pairs on the maps they share: 1 means "
    "identical, 0 means chance."
)
SWEEP = " Silhouette is 1 where clusters are far apart, 0 where they touch. Noise is maps that belong to no cluster."


def quality(atlas: AtlasLike, of: str | None = None, dark: bool = False) -> Figure:
    """Plot how the parameter of a clustering was chosen, and compare methods if a sweep was run.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.quality(atlas)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a clustering whose parameter was chosen automatically, or with a sweep.
    of : str, optional
        Name of the clustering; by default the latest.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    sweep = _rows(atlas, "sweep", None)
    if of is not None or not sweep or atlas.results("cluster"):  # a sweep can be plotted without a clustering
        of = atlas.needed("cluster", of)
    choices = _rows(atlas, "choices", of) if of else []
    if not choices and not sweep:
        command = atlas.command("cluster")
        raise StoreError(
            f"the parameter of {of} was not chosen automatically, and there is no sweep. "
            f"Run `{command}` with k auto, or sweep"
        )
    note = STABILITY + (SWEEP if sweep else "")
    methods = list(dict.fromkeys(row["method"] for row in sweep))
    columns = max(len(methods), 2 if choices else 1)
    height = (TALL + (0.95 if sweep else 0.7) if choices else 0.0) + (
        len(MEASURES) * (TALL + 0.25) + 0.75 if sweep else 0
    )
    page = Page(0.55 + columns * (WIDE + GAP) - GAP, height, _title(of, choices, sweep), note, dark)
    top = 0.0
    if of and choices:
        _draw_choices(page, of, choices)
        top = TALL + 0.95
    for column, method in enumerate(methods):
        _draw_method(page, [row for row in sweep if row["method"] == method], column, top, sweep)
    return page.figure


def _rows(atlas: Atlas, table: str, of: str | None) -> list[dict[str, Any]]:
    try:
        return list(atlas.table(table, of).to_pylist())
    except DamagedChunk:
        raise
    except StoreError:
        return []


def _title(of: str | None, choices: list[dict[str, Any]], sweep: list[dict[str, Any]]) -> str:
    chosen = next((row for row in choices if row["chosen"]), None)
    if chosen is not None and chosen["stability"] is not None:
        tried = [row["value"] for row in choices]
        best = max(choices, key=lambda row: -1.0 if row["stability"] is None else row["stability"])
        more = ", the highest" if best is chosen else f"; {best['value']:g} has the highest, {ratio(best['stability'])}"
        return (
            f"{of}: {chosen['parameter']} = {chosen['value']:g} was chosen from {len(tried)} values ({min(tried):g} "
            f"to {max(tried):g}), with a stability of {ratio(chosen['stability'])}{more}"
        )
    known = [row for row in sweep if np.isfinite(_number(row["stability"]))]
    if not known:
        return "None of the clusterings tried has two clusters to compare"
    best = max(known, key=lambda row: row["stability"])
    return (
        f"Of {len(sweep)} clusterings tried, {best['method']} with {best['parameter']} = {best['value']:.3g} is the "
        f"most stable ({ratio(best['stability'])})"
    )


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _draw_choices(page: Page, of: str, rows: list[dict[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: row["value"])
    page.text(0, 0, f"Choice of {rows[0]['parameter']} for {of}", weight="bold")
    axes = page.axes(0.55, 0.3, 2 * WIDE + GAP, TALL, frame=True)
    chosen = [_number(row["stability"]) if row["chosen"] else np.nan for row in rows]
    _line(page, axes, rows, "stability")
    x = [row["value"] for row in rows]
    axes.plot(x, chosen, "o", ms=9, mfc="none", mec=page.look.ink, mew=1.2)
    for value, height in zip(x, chosen, strict=True):
        if np.isfinite(height):
            options: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "size": SMALL}
            plain = {"facecolor": page.look.paper, "linewidth": 0, "pad": 0.8}  # keeps the line from crossing the label
            axes.annotate("chosen", (value, height), (0, 9), color=page.look.ink, bbox=plain, **options)
    axes.set_xlabel(_parameter_label(rows[0]["parameter"]), size=TEXT)
    axes.set_ylabel("stability", size=TEXT)
    _set_y_range(axes, [_number(row["stability"]) for row in rows])


def _draw_method(
    page: Page, rows: list[dict[str, Any]], column: int, top: float, all_rows: list[dict[str, Any]]
) -> None:
    rows = sorted(rows, key=lambda row: row["value"])
    left = 0.55 + column * (WIDE + GAP)
    page.text(left, top, rows[0]["method"], weight="bold")
    for number, (measure, label) in enumerate(MEASURES.items()):
        axes = page.axes(left, top + 0.3 + number * (TALL + 0.25), WIDE, TALL, frame=True)
        _line(page, axes, rows, measure)
        _set_y_range(axes, [_number(row[measure]) for row in all_rows])
        if column == 0:
            axes.set_ylabel(label, size=TEXT)
        if number < len(MEASURES) - 1:
            axes.set_xticklabels([])
    axes.set_xlabel(_parameter_label(rows[0]["parameter"]), size=TEXT)


def _parameter_label(parameter: str) -> str:
    return PARAMETERS.get(parameter, parameter.replace("_", " "))


def _line(page: Page, axes: Any, rows: list[dict[str, Any]], measure: str) -> None:
    options = {"color": page.look.muted, "linewidth": 1.2, "marker": "o", "markersize": 3.5, "mfc": page.look.ink}
    axes.plot([row["value"] for row in rows], [_number(row[measure]) for row in rows], mew=0, **options)
    axes.margins(x=0.06)
    axes.grid(axis="y", color=page.look.hairline, linewidth=0.5)
    axes.set_axisbelow(True)


def _set_y_range(axes: Any, values: list[float]) -> None:
    """Give all panels of a measure the same y range, with 0 visible and room for a label above."""
    known = [value for value in values if np.isfinite(value)]
    top, low = max([0.1, *known]), min([0.0, *known])
    axes.set_ylim(low - 0.05 * (top - low), top + 0.25 * (top - low))
    axes.set_yticks([tick for tick in axes.get_yticks() if low - 1e-9 <= tick <= max(1, top) + 1e-9])
    axes.set_ylim(low - 0.05 * (top - low), top + 0.25 * (top - low))
