"""A server for one atlas: in the foreground for the command line, in the background for notebooks."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from typing import TYPE_CHECKING, Any

from headatlas import progress
from headatlas.errors import OptionError, WorkerError
from headatlas.web.server.access import LOOPBACK

if TYPE_CHECKING:
    from fastapi import FastAPI

    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model

PORT = 8765
AFTER = 50  # ports that are tried after the one that is taken
EVERYWHERE = ("0.0.0.0", "::")  # every address of this machine
LEAST = 8  # characters of a token


def serve(
    atlas: Atlas,
    *,
    port: int = PORT,
    host: str = "127.0.0.1",
    token: str | None = None,
    browser: bool = True,
    model: str | None = None,
) -> None:
    """Show an atlas in the browser until Ctrl-C."""
    hosts = allowed(host, token)
    with bind(host, port) as listening:
        app = _app(atlas, hosts, token, model)
        server = _server(app)
        address = address_of(host, listening.getsockname()[1])
        progress.say(f"{atlas.files.url}: Ctrl-C ends the server")
        if hosts is not LOOPBACK:
            progress.say("what is sent can be read on the way: use a tunnel or a proxy with TLS where that matters")
        sys.stdout.write(f"{address}{f'?token={token}' if token else ''}\n")
        sys.stdout.flush()
        if browser and _screen():
            threading.Thread(target=_open_browser, args=(server, address, token), daemon=True).start()
        threading.Thread(target=app.state.answers.prepare, daemon=True).start()
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            progress.say("stopped")
        finally:
            app.state.live.close()


class Shown:
    """A server that runs in the background, as a notebook shows it."""

    def __init__(self, atlas: Atlas, port: int | None = None, model: str | Model | None = None) -> None:
        self._socket = bind("127.0.0.1", PORT if port is None else port, quiet=port is None)
        self._app = _app(atlas, LOOPBACK, None, model)
        self._server = _server(self._app)
        self.url = address_of("127.0.0.1", self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        self._preparing = threading.Thread(target=self._app.state.answers.prepare, daemon=True)
        self._preparing.start()
        _wait(self._server, self._thread)

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        self._thread.join(5)
        self._preparing.join(5)  # a thread that still reads would complain when Python ends
        self._app.state.live.close()
        self._socket.close()

    def _repr_html_(self) -> str:
        link = f'<a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>'
        looks = 'width="100%" height="900" style="border:0" allow="clipboard-write; fullscreen"'
        return f'<iframe src="{self.url}" title="Headatlas" {looks}></iframe><div>{link}</div>'

    def __repr__(self) -> str:
        return f"Headatlas at {self.url}"


def _app(atlas: Atlas, hosts: tuple[str, ...] | None, token: str | None, model: str | Model | None) -> FastAPI:
    from headatlas.web.server.app import create

    atlas.needed("collect")
    return create(atlas, hosts=hosts, token=token, model=model)


def _server(app: FastAPI) -> Any:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip


def allowed(host: str, token: str | None) -> tuple[str, ...] | None:
    """The names by which the server may be called, None for any; stops where a token is needed."""
    if token is not None and (len(token) < LEAST or not token.isascii() or not token.isalnum()):
        raise OptionError(f"--token: at least {LEAST} letters and digits are needed")
    if host in ("127.0.0.1", "localhost", "::1"):
        return LOOPBACK
    if token is None:
        raise OptionError(f"--host {host} can be reached by others: choose a --token that they need to know")
    return None if host in EVERYWHERE else (*LOOPBACK, f"[{host}]" if ":" in host else host.lower())


def bind(host: str, port: int, *, quiet: bool = False) -> socket.socket:
    """A socket that listens at this port, or at the next one that is free."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port {port}: choose a number from 1 to 65535, or 0 for any that is free")
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise OptionError(f"--host {host} is no address of this machine: {error.strerror}") from error
    last: OSError | None = None
    for number in [port] if port == 0 else [*range(port, min(port + AFTER, 65536)), 0]:
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            if os.name == "posix":
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port just left is free at once
            found.bind((place[0], number, *place[2:]))
            found.listen(128)
        except OSError as error:
            found.close()
            last = error
            continue
        if number != port and not quiet:
            progress.say(f"port {port} is in use: taking {found.getsockname()[1]}")
        return found
    raise OptionError(f"--host {host}: cannot listen there ({last.strerror if last else 'no free port'})")


def address_of(host: str, port: int) -> str:
    """What to open in a browser."""
    name = "127.0.0.1" if host == "0.0.0.0" else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def _screen() -> bool:
    """Whether a browser would have a screen to open on, rather than take over the terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open_browser(server: Any, address: str, token: str | None) -> None:
    while not server.started:
        time.sleep(0.05)
    webbrowser.open(f"{address}?token={token}" if token else address)


def _wait(server: Any, thread: threading.Thread) -> None:
    for _ in range(200):
        if server.started:
            return
        if not thread.is_alive():
            break
        time.sleep(0.05)
    raise WorkerError("the server did not start; try another port with port=…")
