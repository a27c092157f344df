"""The page: a server for one atlas, and the same page as files. Importing this is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model
    from headatlas.web.server.serve import BackgroundServer

__all__ = ["open"]


def open(  # noqa: A001 - read as headatlas.web.open
    atlas: Atlas | str | os.PathLike[str], *, port: int | None = None, model: str | Model | None = None
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

    return BackgroundServer(atlas if isinstance(atlas, Atlas) else Atlas.open(atlas), port, model)
