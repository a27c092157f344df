"""The page: a server for one atlas, and the same page as files. Importing this is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headatlas.atlas.store import AtlasLike
    from headatlas.data import Example
    from headatlas.models import Attention
    from headatlas.models.load import ModelLike
    from headatlas.models.model import Model
    from headatlas.web.live.widget import PageWidget
    from headatlas.web.server.serve import BackgroundServer
    from headatlas.web.single.page import SinglePage

__all__ = ["head_view", "inline", "model_view", "open", "widget"]


def __dir__() -> list[str]:
    return sorted(__all__)


def open(  # noqa: A001 - read as headatlas.web.open
    atlas: AtlasLike, *, port: int | None = None, model: str | Model | None = None, edit: bool = False
) -> BackgroundServer:
    """Serve an atlas in the background until `close()`; a notebook shows the page.

    With `edit`, the page can write names and notes into a file beside the atlas.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://shown.atlas")
    >>> page = ha.web.open(atlas)
    >>> page.url
    'http://127.0.0.1:...'
    >>> page.close()
    """
    from headatlas.atlas.store import Atlas
    from headatlas.web.server.serve import BackgroundServer

    return BackgroundServer(Atlas.open(atlas), port, model, edit)


def inline(
    atlas: AtlasLike,
    *,
    example: int | None = None,
    head: str | tuple[int, int] | None = None,
    cluster: int | None = None,
    height: int = 720,
    model: str | Model | None = None,
) -> SinglePage:
    """The page as a single file with the data of one view: an example, a head, a cluster, or else the overview.

    A notebook shows it, also where the browser cannot reach the kernel's machine; `.save("page.html")` writes it, and
    `.html` is its text.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://inline.atlas")
    >>> ha.web.inline(atlas, example=0)
    <SinglePage of text 0 of inline.atlas: ... MB>

    Parameters
    ----------
    atlas : Atlas, str or path
        What is shown.
    example : int, optional
        Number of an example; its full maps are included if the model is available and they fit.
    head : tuple of int or str, optional
        Layer and number of a head, such as `(3, 10)` or `"L3·H10"`.
    cluster : int, optional
        Number of a cluster of the latest clustering.
    height : int, optional
        Height of the frame in a notebook, in pixels.
    model : str or Model, optional
        Model for full maps. By default the one the atlas was made with, if it is available.
    """
    from headatlas.atlas.store import Atlas
    from headatlas.web.single.make import contents
    from headatlas.web.single.page import SinglePage

    return SinglePage(contents(Atlas.open(atlas), example, head, cluster, model), height)


def head_view(
    attention: Attention | ModelLike,
    text: str | Path | Example | None = None,
    *,
    pair: str | None = None,
    layer: int = 0,
    heads: Sequence[int] | None = None,
    height: int = 720,
) -> SinglePage:
    """Attention of one text as arcs between its tokens: some heads of a layer. No atlas is needed.

    >>> import headatlas as ha
    >>> attention = ha.models.attention("packaged", "The cat sat on the mat.")
    >>> ha.web.head_view(attention, layer=2, heads=[0, 9])
    <SinglePage of one text as all-MiniLM-L6-v2 reads it: ... MB>

    Parameters
    ----------
    attention : Attention, or Model, str or path
        What `models.attention` returns, or a model that reads `text`.
    text : str, path or Example, optional
        The text or image, if a model is given.
    pair : str, optional
        The second text of a pair; for an encoder-decoder, the target.
    layer : int, optional
        The layer that is shown first.
    heads : sequence of int, optional
        Heads of this layer that are shown first; by default all.
    height : int, optional
        Height of the frame in a notebook, in pixels.
    """
    from headatlas.web.single import one_text
    from headatlas.web.single.page import SinglePage

    read = one_text.read(attention, text, pair)
    return SinglePage(one_text.contents(read, one_text.head_address(read, layer, heads)), height)


def model_view(
    attention: Attention | ModelLike,
    text: str | Path | Example | None = None,
    *,
    pair: str | None = None,
    height: int = 720,
) -> SinglePage:
    """Attention of one text in all heads at once, as a grid of layers and heads. No atlas is needed.

    >>> import headatlas as ha
    >>> ha.web.model_view("packaged", "The cat sat on the mat.")
    <SinglePage of one text as all-MiniLM-L6-v2 reads it: ... MB>

    Parameters
    ----------
    attention, text, pair, height
        As `head_view` takes them.
    """
    from headatlas.web.single import one_text
    from headatlas.web.single.page import SinglePage

    return SinglePage(one_text.contents(one_text.read(attention, text, pair), one_text.MODEL_ADDRESS), height)


def widget(atlas: AtlasLike, *, height: int = 720, model: str | Model | None = None) -> PageWidget:
    """The complete page inside a cell, with full maps and custom texts, where the kernel's ports cannot be reached.

    Its requests travel with the messages of the notebook. This needs anywidget: `pip install "headatlas[notebook]"`.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://widget.atlas")
    >>> page = ha.web.widget(atlas)
    >>> page.close()

    Parameters
    ----------
    atlas : Atlas, str or path
        What is shown.
    height : int, optional
        Height of the frame, in pixels.
    model : str or Model, optional
        Model for full maps. By default the one the atlas was made with, if it is available.
    """
    from headatlas.atlas.store import Atlas
    from headatlas.errors import HeadatlasError

    try:
        from headatlas.web.live.widget import make
    except ImportError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise HeadatlasError("the widget needs anywidget. Run: pip install 'headatlas[notebook]'") from None
    return make(Atlas.open(atlas), height, model)
