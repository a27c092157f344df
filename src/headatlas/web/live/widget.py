"""The page as a widget: its requests travel as messages of the widget, so no port of the kernel has to be reachable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from headatlas.web.live.requests import LocalApp
from headatlas.web.single.contents import Contents
from headatlas.web.single.document import document
from headatlas.web.single.page import SANDBOX

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model

METHODS = ("GET", "POST")


class PageWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The page of an atlas inside a cell. `close()` stops answering."""

    _esm = (Path(__file__).parent / "widget.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    sandbox = traitlets.Unicode(SANDBOX).tag(sync=True)

    def __init__(self, page: str, height: int, app: LocalApp) -> None:
        super().__init__(page=page, height=height)
        self._app = app
        self._running: dict[tuple[str, int], Callable[[], None]] = {}
        self.on_msg(self._receive)

    def _receive(self, _: Any, message: Any, buffers: Any) -> None:
        """A request of a frame, or that it is no longer interested in one; anything else is ignored."""
        if not isinstance(message, dict) or not isinstance(message.get("id"), int):
            return
        key = (str(message.get("view", "")), message["id"])
        if message.get("cancel"):
            self._running.pop(key, lambda: None)()
            return
        method, path, body = (message.get(name) for name in ("method", "path", "body"))
        if method in METHODS and isinstance(path, str) and isinstance(body, str | None):
            self._running[key] = self._app.request(method, path, body, self._answer(key))

    def _answer(self, key: tuple[str, int]) -> Callable[[int, bytes], None]:
        def answer(status: int, body: bytes) -> None:
            self._running.pop(key, None)
            self.send({"view": key[0], "id": key[1], "status": status}, buffers=[body])

        return answer

    def close(self) -> None:
        """Stop answering, and remove the page from its cells."""
        self._app.close()
        super().close()

    def __repr__(self) -> str:
        return f"<PageWidget of {self._app.name}>"


def make(atlas: Atlas, height: int, model: str | Model | None) -> PageWidget:
    """The widget of an atlas."""
    page = document(Contents("#/overview", f"the page of {atlas.files.url}", live=True))
    return PageWidget(page, height, LocalApp(atlas, model))
