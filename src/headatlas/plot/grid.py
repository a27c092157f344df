"""The grid of heads: layers down, heads across."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas import wording
from headatlas.atlas import display, summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.plot import named
from headatlas.plot.style import MAPS_NOTE, REST, SMALL, Page, color, legend_height, map_picture, patch, readable, turn
from headatlas.sources import Mark, Offset, Source
from headatlas.statistics import statistic
from headatlas.wording import many

LABELS = 0.42  # inches for the numbers of layers and heads
LEGEND = 3.1
MOST = 24  # clusters listed in the legend; the rest share one line
HALF = 0.5


def heads(atlas: AtlasLike, by: str = "cluster", of: str | None = None, dark: bool = False) -> Figure:
    """Plot the grid of heads: one cell per head, layers down, heads across.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.heads(atlas, by="previous")

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a collection; colors by cluster need a clustering and its correlations.
    by : str
        What colors a cell: `cluster` (the main cluster of the head), `entropy` (of the head's clusters: one job or
        many), `main_share` (the share of its main cluster), `maps` (draws the mean map instead), or a statistic, as
        its mean over all examples. Use `stat:entropy` for the entropy of attention.
    of : str, optional
        Name of the clustering; by default the latest.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    atlas.needed("collect")
    if by == "maps":
        return _maps(atlas, dark)
    if by == "cluster":
        return _clusters(atlas, of, dark)
    return _amounts(atlas, by, of, dark)


def cell_size(layers: int, across: int) -> float:
    """Side of a cell in inches: the grid fills one page."""
    return float(np.clip(min(6.6 / across, 9.0 / layers), 0.14, 0.46))


def frame(page: Page, layers: int, across: int, cell: float) -> Any:
    """A canvas for the grid in units of cells, with the numbers of layers and heads."""
    axes = page.axes(LABELS, LABELS, across * cell, layers * cell)
    step = 1 if cell >= 0.2 else 5
    axes.set(xlim=(0, across), ylim=(layers, 0))
    axes.set_xticks(np.arange(0, across, step) + 0.5, [str(n) for n in range(0, across, step)])
    axes.set_yticks(np.arange(0, layers, step) + 0.5, [str(n) for n in range(0, layers, step)])
    axes.xaxis.tick_top()
    page.text(LABELS, 0.06, "head →", color=page.look.muted, size=SMALL)
    page.text(0, LABELS, "layer\n↓", color=page.look.muted, size=SMALL)
    return axes


def _shape(atlas: Atlas) -> tuple[int, int]:
    layers, across = atlas.array("stats").shape[1:3]
    return int(layers), int(across)


def _clusters(atlas: Atlas, of: str | None, dark: bool) -> Figure:
    of, clusters = named.correlated(atlas, of)
    profiles = atlas.table("profiles", of).to_pylist()
    layers, across = _shape(atlas)
    cell = cell_size(layers, across)
    head_counts = {
        cluster.number: sum(row["main_cluster"] == cluster.number for row in profiles) for cluster in clusters
    }
    shown, rest = _ranked(clusters, head_counts)
    rows = [(cluster.number, cluster.name, many(head_counts[cluster.number], "head")) for cluster in shown]
    if rest:
        rest_heads = many(sum(head_counts[number] for number in rest), "head")
        rows.insert(sum(cluster.number >= 0 for cluster in shown), (REST, f"{len(rest)} other clusters", rest_heads))
    numbers = cell >= 0.3
    note = "Color is the cluster that most of a head's maps belong to" + (
        "; the number is the percentage of its maps in that cluster." if numbers else "."
    )
    height = max(LABELS + layers * cell, 0.3 + legend_height(LEGEND, rows))
    title = _job_sentence(profiles, clusters, atlas.facts("correlate", of)["thresholds"]["one_job"])
    page = Page(LABELS + across * cell + 0.4 + LEGEND, height, title, note, dark)
    axes = frame(page, layers, across, cell)
    for row in profiles:
        number, gap = REST if row["main_cluster"] in rest else row["main_cluster"], 0.03
        patch(axes, number, (row["head"] + gap, row["layer"] + gap, 1 - 2 * gap, 1 - 2 * gap), page.look)
        if numbers:
            back = color(number, page.look)
            # a plain box keeps the hatch off the number
            plain = {"facecolor": back, "linewidth": 0, "pad": 1.2} if turn(number) else None
            axes.text(
                row["head"] + 0.5, row["layer"] + 0.52, f"{100 * row['main_share']:.0f}", ha="center", va="center",
                size=SMALL, color=readable(back), bbox=plain,
            )  # fmt: skip
    page.categories(LABELS + across * cell + 0.4, 0.15, LEGEND, f"main cluster of a head ({of})", rows)
    return page.figure


def _ranked(clusters: list[summaries.Cluster], head_counts: dict[int, int]) -> tuple[list[summaries.Cluster], set[int]]:
    """Split the main clusters of heads: those with the most heads, in order, and the numbers of the rest."""
    main = [cluster for cluster in clusters if head_counts[cluster.number]]
    real = sorted(
        (cluster for cluster in main if cluster.number >= 0), key=lambda cluster: -head_counts[cluster.number]
    )
    rest = {cluster.number for cluster in real[MOST:]} if len(real) > MOST + 1 else set()
    return [cluster for cluster in main if cluster.number not in rest], rest


def _job_sentence(profiles: list[dict[str, Any]], clusters: list[summaries.Cluster], one_job: float) -> str:
    sentence = wording.jobs_line(len(profiles), sum(row["one_job"] for row in profiles), one_job)
    counts = {
        cluster.name: sum(row["main_cluster"] == cluster.number for row in profiles)
        for cluster in clusters
        if cluster.number >= 0
    }
    most = max(counts, key=lambda name: counts[name], default="")
    if not most or not counts[most]:
        return sentence
    return f"{sentence}; the most frequent main cluster is “{most}” ({many(counts[most], 'head')})"


def _amounts(atlas: Atlas, by: str, of: str | None, dark: bool) -> Figure:
    values, name, unit, note = _values(atlas, by, of)
    layers, across = values.shape
    cell = cell_size(layers, across)
    ends = [_end(values, np.nanmax(values)), _end(values, np.nanmin(values))]
    title = f"{wording.capitalize(name)} is largest in {ends[0]} and smallest in {ends[1]}"
    page = Page(LABELS + across * cell + 0.4 + LEGEND - 0.8, LABELS + max(layers * cell, 1.0), title, note, dark)
    axes = frame(page, layers, across, cell)
    norm, scale = Normalize(np.nanmin(values), np.nanmax(values)), page.look.amounts
    if np.nanmin(values) < 0 < np.nanmax(values):
        widest = float(np.nanmax(np.abs(values)))
        norm, scale = TwoSlopeNorm(0, -widest, widest), page.look.differences
    axes.pcolormesh(values, cmap=scale, norm=norm, edgecolors=page.look.paper, linewidth=0.8)
    page.scale(LABELS + across * cell + 0.4, LABELS, ScalarMappable(norm, scale), name, unit)
    return page.figure


def _end(values: NDArray[np.float64], value: float) -> str:
    """The head with this value, or how many heads have it."""
    layer, head = np.argwhere(values == value)[0]
    count = int((values == value).sum())
    which = (
        wording.head_name(layer, head) if count == 1 else f"{count} of {many(int(np.isfinite(values).sum()), 'head')}"
    )
    return f"{which} ({wording.amount(value)})"


def _values(atlas: Atlas, by: str, of: str | None) -> tuple[NDArray[np.float64], str, str, str]:
    """One value per head (layer, head), its label, its unit, and a note that explains it."""
    statistics = list(atlas.array("stats").attrs["stats"])
    name = by.removeprefix("stat:")
    if by in ("entropy", "main_share"):
        of, _ = named.correlated(atlas, of)
        table = atlas.table("profiles", of)
        label, unit = {
            "entropy": ("entropy of a head's clusters", "nats"),
            "main_share": ("share of the main cluster", "share of a head's maps"),
        }[by]
        zero = "; 0: all its maps are in one cluster" if by == "entropy" else ""
        note = f"Over the maps of each head, clusters of {of}{zero}."
    elif name in statistics and name in atlas.table("heads").column_names:
        table, by, label, unit = atlas.table("heads"), name, statistic(name).label, statistic(name).unit_text
        note = f"Mean of the statistic “{name}” over all examples, one value per head."
    else:
        raise OptionError(
            f"--by {by}: choose cluster, maps, entropy, main_share, or a statistic: {', '.join(statistics)}"
        )
    values = np.full(_shape(atlas), np.nan)
    values[np.asarray(table["layer"]), np.asarray(table["head"])] = table[by].to_numpy(zero_copy_only=False)
    if not np.isfinite(values).any():
        raise OptionError(f"--by {by}: undefined for every head of this model")
    return values, label, unit, note


def _maps(atlas: Atlas, dark: bool) -> Figure:
    means = display.mean_maps(atlas)
    layers, across = means.shape[:2]
    cell = float(np.clip(min(10 / across, 13 / layers), 0.3, 0.75))
    facts = atlas.header["model"]
    examples = atlas.array("pooled").shape[0]
    note = f"Mean map of each head of {facts['name']} over {many(examples, 'example')}. {MAPS_NOTE}"
    width = max(LABELS + across * cell, 4.2)
    page = Page(width, LABELS + layers * cell, _target_sentence(atlas), note, dark)
    frame(page, layers, across, cell)
    gap = 0.04
    for layer, head in np.ndindex(layers, across):
        if np.isfinite(means[layer, head]).all():
            place = (LABELS + (head + gap / 2) * cell, LABELS + (layer + gap / 2) * cell)
            axes = page.axes(*place, cell * (1 - gap), cell * (1 - gap))
            axes.imshow(
                map_picture(means[layer, head]), cmap=page.look.maps, vmin=0, vmax=1, interpolation="none",
                aspect="auto",
            )  # fmt: skip
            axes.set(xticks=[], yticks=[])
    return page.figure


def _is_kind_of_token(source: Source) -> bool:
    """Whether a statistic is the attention to one kind of token: marked, or the query itself or adjacent to it."""
    return isinstance(source, Mark) or (isinstance(source, Offset) and abs(source.by) <= 1)


def _target_sentence(atlas: Atlas) -> str:
    """Title: how many heads give half of their attention to one kind of token, and to which most often."""
    table = atlas.table("heads")
    kinds = [name for name in table.column_names if _is_kind_of_token(statistic(name).source)]
    if not kinds or not table.num_rows:
        return "What every head looks at, on average"
    means = np.nan_to_num(np.stack([table[name].to_numpy(zero_copy_only=False) for name in kinds], 1))
    half = means.max(1) >= HALF
    sentence = f"{int(half.sum())} of {table.num_rows} heads give half or more of their attention to one kind of token"
    if not half.any():
        return f"No head gives half of its attention to one kind of token ({table.num_rows} heads)"
    counts = np.bincount(means[half].argmax(1), minlength=len(kinds))
    best = statistic(kinds[int(counts.argmax())]).high
    return f"{sentence}; {int(counts.max())} of them to {best.target}" if best else sentence
