"""Figures of an atlas for notebooks, papers and the command line; each answers a question in its title."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from headatlas.errors import OptionError, StoreError
from headatlas.plot.curves import quality
from headatlas.plot.gallery import clusters
from headatlas.plot.grid import heads
from headatlas.plot.heat import layers
from headatlas.plot.scatter import projection
from headatlas.plot.style import CATEGORIES

if TYPE_CHECKING:
    from headatlas.plot import tsne

__all__ = ["CATEGORIES", "FIGURES", "clusters", "heads", "layers", "projection", "quality", "save", "tsne"]

FIGURES: dict[str, Callable[..., Figure]] = {
    "heads": heads,
    "clusters": clusters,
    "layers": layers,
    "projection": projection,
    "quality": quality,
}
SUFFIXES = (".png", ".svg", ".pdf")
DPI = 200  # twice that of a screen


def __getattr__(name: str) -> Any:
    """`plot.tsne` is loaded when it is used: it needs numba."""
    if name == "tsne":
        return importlib.import_module("headatlas.plot.tsne")
    raise AttributeError(f"module 'headatlas.plot' has no attribute {name!r}")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as .png, .svg or .pdf; the same figure gives the same bytes."""
    import matplotlib

    target = Path(path).expanduser()
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"{target}: a figure is saved as {', '.join(SUFFIXES)}; choose one of them as the ending")
    metadata = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    try:
        with matplotlib.rc_context({"svg.hashsalt": "headatlas", "svg.fonttype": "none", "pdf.fonttype": 42}):
            figure.savefig(target, dpi=DPI, facecolor=figure.get_facecolor(), metadata=metadata)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}. Choose another place with -o"
        ) from None
