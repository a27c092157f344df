"""The gallery of clusters: the mean map of each, its most typical maps and its least typical ones."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from headatlas import progress, wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.plot import named
from headatlas.plot.style import MAPS_NOTE, SMALL, TEXT, Page, draw_map, fit, letters, patch

SIDE, GAP, WORDS, ROW = 0.82, 0.12, 2.9, 1.32
HOME = (
    "Listed layers hold clearly more than their share of the cluster; listed heads have half of their maps in it, "
    "or at least more than expected."
)
KINDS = {"typical": "typical: nearest to the center", "unlike": "unlike: farthest from the center"}


def clusters(atlas: AtlasLike, of: str | None = None, most: int = 12, exemplars: int = 4, dark: bool = False) -> Figure:
    """Plot a gallery of clusters: one row per cluster with its mean map, typical maps and unlike maps.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.clusters(atlas, most=6)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a clustering and its correlations.
    of : str, optional
        Name of the clustering; by default the latest.
    most : int
        Number of clusters shown, the largest first.
    exemplars : int
        Number of typical maps and of unlike maps per cluster.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if most < 1 or exemplars < 0:
        raise OptionError("at least one cluster must be shown, and the number of exemplars cannot be negative")
    atlas = Atlas.open(atlas)
    of, every_cluster = named.correlated(atlas, of)
    shown = [cluster for cluster in every_cluster if cluster.number >= 0][:most] or every_cluster[:1]
    hidden = _hidden([cluster for cluster in every_cluster if cluster not in shown])
    table = [row for row in atlas.table("exemplars", of).to_pylist() if row["rank"] < exemplars]
    note = f"{HOME} Mean maps are over all maps of a cluster or, if there are too many, a sample. {MAPS_NOTE}"
    block = exemplars * (SIDE + GAP)
    width = WORDS + SIDE + 2 * (block + 0.3)
    height = 0.3 + len(shown) * ROW
    page = Page(width, height + (0.2 if hidden else 0), summaries.sentence(atlas, of, every_cluster), note, dark)
    page.text(0, height, hidden)
    starts = {"typical": WORDS + SIDE + 0.3, "unlike": WORDS + SIDE + 0.6 + block}
    page.text(WORDS, 0, "mean", color=page.look.muted)
    for kind, left in starts.items() if exemplars else ():
        page.text(left, 0, KINDS[kind] if exemplars > 1 else kind, color=page.look.muted)
    means = summaries.cluster_maps(atlas, of, [cluster.number for cluster in shown])
    with progress.bar("drawing", len(shown), "clusters") as advance:
        for row_number, cluster in enumerate(shown):
            top = 0.3 + row_number * ROW
            _words(page, cluster, top)
            draw_map(page.axes(WORDS, top, SIDE, SIDE), means[row_number], page.look)
            _exemplars(page, atlas, [row for row in table if row["cluster"] == cluster.number], starts, top)
            advance(1)
    return page.figure


def _hidden(others: list[summaries.Cluster]) -> str:
    """Sentences about the clusters that the gallery leaves out."""
    small = [cluster for cluster in others if cluster.number >= 0]
    parts = []
    if small:
        verb = "is" if len(small) == 1 else "are"
        share = wording.percent(sum(cluster.share for cluster in small))
        parts.append(f"{wording.many(len(small), 'smaller cluster')} ({share} of all maps) {verb} not shown.")
    parts += [f"{wording.noise_line(cluster.maps, cluster.share)}." for cluster in others if cluster.number < 0]
    return "  ".join(parts)


def _words(page: Page, cluster: summaries.Cluster, top: float) -> None:
    """Name, share and home of a cluster, left of its maps."""
    look, width = page.look, WORDS - 0.5
    patch(page.canvas(0, top, 0.16, SIDE), cluster.number, (0, 0.0, 0.07, SIDE), look)
    name = fit(cluster.name, width, TEXT + 1, bold=True)[:2]
    page.text(0.18, top - 0.02, "\n".join(name), size=TEXT + 1, weight="bold", linespacing=1.2)
    size = wording.cluster_size(cluster.number, cluster.maps, cluster.share, cluster.stability)
    lines = [*fit(size, width)[:2], *fit(wording.layers(cluster.layers or []), width)[:2]]
    room = 6 - len(name) - len(lines)
    y = top + 0.19 * len(name) + 0.02
    page.text(0.18, y, "\n".join(lines), linespacing=1.3)
    y += 0.158 * len(lines) + 0.03
    shown = wording.head_lines(cluster.heads, room, letters(width, SMALL))
    page.text(0.18, y, "\n".join(shown), size=SMALL, color=look.muted, linespacing=1.35)


def _exemplars(page: Page, atlas: Atlas, rows: list[dict[str, int]], starts: dict[str, float], top: float) -> None:
    """The exemplars of a cluster in a row, each with its head and example."""
    if not rows:
        return
    maps = summaries.pooled(atlas, np.array([(row["example"], row["layer"], row["head"]) for row in rows]))
    for row, values in zip(rows, maps, strict=True):
        left = starts[str(row["kind"])] + row["rank"] * (SIDE + GAP)
        draw_map(page.axes(left, top, SIDE, SIDE), values, page.look)
        page.text(left, top + SIDE + 0.04, wording.head_name(row["layer"], row["head"]), size=SMALL)
        page.text(left, top + SIDE + 0.17, f"example {row['example']}", size=SMALL, color=page.look.muted)
