"""Figures of an atlas for notebooks, papers and the command line; the title of each states its main result."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from headatlas.errors import OptionError, StoreError
from headatlas.plot.comparison import compare
from headatlas.plot.curves import quality
from headatlas.plot.full_map import map  # noqa: A004 - read as plot.map
from headatlas.plot.gallery import clusters
from headatlas.plot.grid import heads
from headatlas.plot.heat import layers
from headatlas.plot.one_head import head
from headatlas.plot.queries import qk
from headatlas.plot.scatter import projection
from headatlas.plot.style import CATEGORIES

if TYPE_CHECKING:
    from headatlas.plot import tsne

__all__ = [
    "CATEGORIES", "FIGURES", "clusters", "compare", "head", "heads", "layers", "map", "projection", "qk", "quality",
    "save", "tsne",
]  # fmt: skip

FIGURES: dict[str, Callable[..., Figure]] = {
    "heads": heads,
    "head": head,
    "clusters": clusters,
    "layers": layers,
    "projection": projection,
    "quality": quality,
    "qk": qk,
    "compare": compare,
}
SUFFIXES = (".png", ".svg", ".pdf")
DPI = 200  # twice that of a screen


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import `plot.tsne` on first use: it needs numba."""
    if name == "tsne":
        return importlib.import_module("headatlas.plot.tsne")
    raise AttributeError(f"module 'headatlas.plot' has no attribute {name!r}")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as .png, .svg or .pdf.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
    >>> ha.plot.save(ha.plot.heads(atlas), "heads.png")

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A figure made by one of the functions of this package.
    path : str or path
        Where to write it; the suffix chooses the format. The same figure gives the same bytes.
    """
    import matplotlib

    target = Path(path).expanduser()
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"{target}: figures are saved as {', '.join(SUFFIXES)}; use one of these suffixes")
    metadata = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    try:
        with matplotlib.rc_context({"svg.hashsalt": "headatlas", "svg.fonttype": "none", "pdf.fonttype": 42}):
            figure.savefig(target, dpi=DPI, facecolor=figure.get_facecolor(), metadata=metadata)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}. Choose another path with -o"
        ) from None
