"""The page: a server for one atlas, and the same page as files. Importing this is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headatlas.atlas.store import AtlasLike
    from headatlas.models.model import Model
    from headatlas.web.server.serve import BackgroundServer

__all__ = ["open"]


def __dir__() -> list[str]:
    return sorted(__all__)


def open(  # noqa: A001 - read as headatlas.web.open
    atlas: AtlasLike, *, port: int | None = None, model: str | Model | None = None
) -> BackgroundServer:
    """Serve an atlas in the background until `close()`; a notebook shows the page.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://shown.atlas")
    >>> page = ha.web.open(atlas)
    >>> page.url
    'http://127.0.0.1:...'
    >>> page.close()
    """
    from headatlas.atlas.store import Atlas
    from headatlas.web.server.serve import BackgroundServer

    return BackgroundServer(Atlas.open(atlas), port, model)
