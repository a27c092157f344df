"""The server's application without a server: the same responses and errors, to requests that come as messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headatlas.web.server.app import create

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model

Done = Callable[[int, bytes], None]  # called with the status and the body of a response


class LocalApp:
    """Answers requests to an atlas in a background thread."""

    def __init__(self, atlas: Atlas, model: str | Model | None = None) -> None:
        atlas.needed("collect")
        self.name = atlas.files.url
        self._app = create(atlas, static=None, model=model)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headatlas-widget", daemon=True)
        self._thread.start()

    def request(self, method: str, path: str, body: str | None, done: Done) -> Callable[[], None]:
        """Answer a request with `done`; the function that is returned cancels it."""
        left = asyncio.Event()
        exchange = _Exchange(method, path, (body or "").encode(), left)
        asyncio.run_coroutine_threadsafe(exchange.run(self._app, done), self._loop)

        def cancel() -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(left.set)

        return cancel

    def close(self) -> None:
        """Cancel everything."""
        if self._loop.is_closed():
            return
        self._app.state.runner.close()
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Exchange:
    """One request and its response, as ASGI describes them."""

    def __init__(self, method: str, path: str, body: bytes, left: asyncio.Event) -> None:
        self.method, self.path, self.body, self.left = method, path, body, left
        self.asked, self.status, self.content = False, 500, bytearray()

    @property
    def scope(self) -> dict[str, Any]:
        address = f"/{self.path}"
        headers = [(b"host", b"127.0.0.1")]
        if self.method == "POST":
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(self.body)).encode())]
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": self.method, "scheme": "http",
            "path": unquote(address), "raw_path": address.encode(), "query_string": b"", "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 0), "server": ("127.0.0.1", 80),
        }  # fmt: skip

    async def receive(self) -> dict[str, Any]:
        """The body, then nothing until the page has left."""
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """A part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.content += message.get("body", b"")

    async def run(self, app: Any, done: Done) -> None:
        """Answer the request, unless the page has left."""
        await app(self.scope, self.receive, self.send)
        if not self.left.is_set():
            done(self.status, bytes(self.content))
