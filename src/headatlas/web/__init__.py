"""The page: a server for one atlas, and the same page as files. Light: what it needs is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model
    from headatlas.web.server.serve import Shown

__all__ = ["open"]


def open(  # noqa: A001 - read as headatlas.web.open
    atlas: Atlas | str | os.PathLike[str], *, port: int | None = None, model: str | Model | None = None
) -> Shown:
    """Show an atlas in a notebook, or give its address; the server runs in the background until `close()`.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://shown.atlas")
    >>> page = ha.web.open(atlas)
    >>> page.url
    'http://127.0.0.1:...'
    >>> page.close()
    """
    from headatlas.atlas.store import Atlas
    from headatlas.web.server.serve import Shown

    return Shown(atlas if isinstance(atlas, Atlas) else Atlas.open(atlas), port, model)
