"""The grid of heads of a comparison: how far the maps of each head moved, and which changed more than seeds do."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.plot.grid import LABELS, LEGEND, cell_size, frame
from headatlas.plot.style import SMALL, Page, readable
from headatlas.wording import capitalize
from headatlas.wording.compare import changed_heads, compare_result, moved_head

Row = dict[str, Any]


def compare(atlas: AtlasLike, of: str | None = None, step: int | None = None, dark: bool = False) -> Figure:
    """Plot how far the maps of each head moved between two models; heads that changed more than seeds have a dot.

    >>> import headatlas as ha
    >>> texts = ha.data.load("sample", limit=4)
    >>> before = ha.collect.maps("packaged", texts, "memory://before.atlas", resolution=8)
    >>> after = ha.collect.maps(ha.models.permuted("packaged"), texts, "memory://permuted.atlas", resolution=8)
    >>> heads = ha.compare.models(before, after)
    >>> figure = ha.plot.compare(before)

    Parameters
    ----------
    atlas : Atlas, str or path
        The atlas that a comparison was written into.
    of : str, optional
        Name of the comparison; by default the latest.
    step : int, optional
        Number of the step of a series, from 1; by default the last.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    of = atlas.needed("compare", of)
    facts = atlas.facts("compare", of)
    step = len(facts["steps"]) if step is None else step
    if not 1 <= step <= len(facts["steps"]):
        raise OptionError(f"step {step}: {of} has the steps 1 to {len(facts['steps'])}")
    rows = atlas.table("compare_heads", of, filters=[("step", "==", step)]).to_pylist()
    known = [row for row in rows if row["shift"] is not None]
    if not known:
        raise OptionError(f"{of} has no shifts at step {step}: the models read different tokens")
    return _draw(atlas, facts, step, known, dark)


def _draw(atlas: Atlas, facts: Row, step: int, rows: list[Row], dark: bool) -> Figure:
    layers, across = atlas.array("stats").shape[1:3]
    values = np.full((layers, across), np.nan)
    for row in rows:
        values[row["layer"], row["head"]] = row["shift"]
    cell = cell_size(layers, across)
    left = LABELS + across * cell + 0.4
    page = Page(
        left + LEGEND - 0.8, LABELS + max(layers * cell, 1.6), _title(facts, step, rows), _note(facts, step), dark
    )
    axes = frame(page, layers, across, cell)
    norm = Normalize(0, float(np.nanmax(values)) or 1.0)
    axes.pcolormesh(values, cmap=page.look.amounts, norm=norm, edgecolors=page.look.paper, linewidth=0.8)
    for row in (row for row in rows if row["changed"]):
        ink = readable(page.look.amounts(norm(row["shift"])))
        axes.plot(row["head"] + 0.5, row["layer"] + 0.5, "o", color=ink, markersize=min(5, 14 * cell))
    page.scale(left, LABELS, ScalarMappable(norm, page.look.amounts), "shift", "0: same maps, 1: no key in common")
    if any(row["changed"] for row in rows):
        page.text(left, LABELS + 0.85, "●  changed more than seeds", color=page.look.muted, size=SMALL)
    return page.figure


def _title(facts: Row, step: int, rows: list[Row]) -> str:
    changed = facts["changed"][step - 1]
    most = moved_head(max(rows, key=lambda row: row["shift"]))  # type: ignore[arg-type]
    start = "" if changed is None else f"{changed_heads(changed, len(rows))}; "
    return capitalize(f"{start}most {most}")


def _note(facts: Row, step: int) -> str:
    what = compare_result(facts["first"], [facts["steps"][step - 1]], len(facts["noise"]), facts["examples"])
    return f"Mean Jensen–Shannon divergence of the rows of the pooled maps of two models, in bits. {what}."
