"""The heat map of clusters and layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headatlas.atlas import summaries
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.plot import named
from headatlas.plot.style import REST, SMALL, TEXT, Page, fit, patch, readable
from headatlas.wording import many, percent

WORDS, ROOM, MOST = 3.3, 0.34, 30
LABEL = "share of the layer's maps"


def layers(atlas: AtlasLike, of: str | None = None, dark: bool = False) -> Figure:
    """Plot the share of each layer's maps in each cluster: one row per cluster, one column per layer.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> figure = ha.plot.layers(atlas)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a clustering and its correlations.
    of : str, optional
        Name of the clustering; by default the latest.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    atlas = Atlas.open(atlas)
    of, clusters = named.correlated(atlas, of)
    shares = summaries.by_layer(atlas, of, [cluster.number for cluster in clusters])
    title = _title(atlas, of, clusters, shares)
    clusters, shares = _gathered(clusters, shares)
    cell = float(np.clip(7.2 / shares.shape[1], 0.2, 0.62))
    height, numbers = 0.3, cell >= ROOM
    note = "Each column is a layer and adds up to 100%" + (
        "; numbers are percentages of the layer's maps, empty below 0.5." if numbers else " of its maps."
    )
    wide = max(shares.shape[1] * cell, 3.4)
    page = Page(WORDS + wide, 0.4 + len(clusters) * height + 0.75, title, note, dark)
    axes = page.axes(WORDS, 0.4, shares.shape[1] * cell, len(clusters) * height)
    norm = Normalize(0, 100 * float(np.nanmax(shares)))
    axes.pcolormesh(100 * shares, cmap=page.look.amounts, norm=norm, edgecolors=page.look.paper, linewidth=1)
    axes.set(xlim=(0, shares.shape[1]), ylim=(len(clusters), 0), yticks=[])
    step = 1 if cell >= 0.24 else 5
    axes.set_xticks(np.arange(0, shares.shape[1], step) + 0.5, [str(n) for n in range(0, shares.shape[1], step)])
    axes.xaxis.tick_top()
    page.text(WORDS, 0, "layer →", color=page.look.muted, size=SMALL)
    for row, cluster in enumerate(clusters):
        _name(page, cluster, 0.4 + row * height)
    if numbers:
        for (row, layer), share in np.ndenumerate(shares):
            if share >= 0.005:
                ink = readable(page.look.amounts(norm(100 * share)))
                middle: dict[str, Any] = {"ha": "center", "va": "center", "size": SMALL}
                axes.text(layer + 0.5, row + 0.52, f"{100 * share:.0f}", color=ink, **middle)
    page.scale(WORDS, 0.4 + len(clusters) * height + 0.2, ScalarMappable(norm, page.look.amounts), LABEL, "percent")
    return page.figure


def _gathered(
    clusters: list[summaries.Cluster], shares: NDArray[np.float64]
) -> tuple[list[summaries.Cluster], NDArray[np.float64]]:
    """The largest clusters; the rest, if there are many, share one row before noise."""
    small = [row for row, cluster in enumerate(clusters) if cluster.number >= 0][MOST:]
    if len(small) < 2:
        return clusters, shares
    maps, share = sum(clusters[row].maps for row in small), sum(clusters[row].share for row in small)
    rest = summaries.Cluster(REST, many(len(small), "smaller cluster"), maps, share, None)
    end = small[-1] + 1
    joined = [shares[: small[0]], shares[small].sum(0, keepdims=True), shares[end:]]
    return [*clusters[: small[0]], rest, *clusters[end:]], np.concatenate(joined)


def _name(page: Page, cluster: summaries.Cluster, top: float) -> None:
    patch(page.canvas(0, top, 0.1, 0.3), cluster.number, (0, 0.05, 0.09, 0.2), page.look)
    size = TEXT if len(fit(cluster.name, WORDS - 0.9)) == 1 else SMALL  # long names are smaller, on up to two lines
    name = fit(cluster.name, WORDS - 0.9, size)
    shown = [*name[:1], name[1] + " …"] if len(name) > 2 else name
    page.text(0.18, top + 0.15, "\n".join(shown), va="center", size=size, linespacing=1.1)
    page.text(WORDS - 0.12, top + 0.15, percent(cluster.share), ha="right", va="center", color=page.look.muted)


def _title(atlas: Atlas, of: str, clusters: list[summaries.Cluster], shares: NDArray[np.float64]) -> str:
    """Title: the layer in which one cluster has the largest share."""
    real = [row for row, cluster in enumerate(clusters) if cluster.number >= 0]
    if not real:
        return summaries.sentence(atlas, of, clusters)
    row, layer = np.unravel_index(np.nanargmax(shares[real]), shares[real].shape)
    cluster = clusters[real[int(row)]]
    return (
        f"Layer {layer} relies most on one pattern: {percent(float(shares[real][row, layer]))} of its maps are "
        f"“{cluster.name}”, against {percent(cluster.share)} of all maps"
    )
