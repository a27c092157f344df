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
from headatlas.errors import OptionError, StoreError, WorkerError
from headatlas.web.server.access import LOOPBACK

if TYPE_CHECKING:
    from fastapi import FastAPI

    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model

PORT = 8765
MORE_PORTS = 50  # tried after one that is in use
ALL_ADDRESSES = ("0.0.0.0", "::")  # of this machine
SHORTEST_TOKEN = 8  # characters


def serve(
    atlas: Atlas,
    *,
    port: int = PORT,
    host: str = "127.0.0.1",
    token: str | None = None,
    browser: bool = True,
    model: str | None = None,
    edit: bool = False,
) -> None:
    """Show an atlas in the browser until Ctrl-C."""
    hosts = allowed(host, token)
    _check_notes(atlas, edit)
    with bind(host, port) as listening:
        app = _app(atlas, hosts, token, model, edit)
        server = _server(app)
        address = address_of(host, listening.getsockname()[1])
        progress.say(f"{atlas.files.url}: press Ctrl-C to stop the server")
        if hosts is not LOOPBACK:
            progress.say("the connection is not encrypted: use a tunnel or a proxy with TLS where that matters")
        sys.stdout.write(f"{address}{f'?token={token}' if token else ''}\n")
        sys.stdout.flush()
        if browser and _has_screen():
            threading.Thread(target=_open_browser, args=(server, address, token), daemon=True).start()
        threading.Thread(target=app.state.responses.warm_up, daemon=True).start()
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            progress.say("stopped")
        finally:
            app.state.runner.close()


class BackgroundServer:
    """A server in a background thread, which a notebook shows as a frame."""

    def __init__(
        self, atlas: Atlas, port: int | None = None, model: str | Model | None = None, edit: bool = False
    ) -> None:
        if edit:
            _check_notes(atlas, edit)
        self._socket = bind("127.0.0.1", PORT if port is None else port, quiet=port is None)
        self._app = _app(atlas, LOOPBACK, None, model, edit)
        self._server = _server(self._app)
        self.url = address_of("127.0.0.1", self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        self._warming_up = threading.Thread(target=self._app.state.responses.warm_up, daemon=True)
        self._warming_up.start()
        _wait(self._server, self._thread)

    def close(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join(5)
        self._warming_up.join(5)  # a thread that still reads would fail when Python exits
        self._app.state.runner.close()
        self._socket.close()

    def _repr_html_(self) -> str:
        link = f'<a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>'
        attributes = 'width="100%" height="900" style="border:0" allow="clipboard-write; fullscreen"'
        return f'<iframe src="{self.url}" title="Headatlas" {attributes}></iframe><div>{link}</div>'

    def __repr__(self) -> str:
        return f"Headatlas at {self.url}"


def _app(
    atlas: Atlas, hosts: tuple[str, ...] | None, token: str | None, model: str | Model | None, edit: bool
) -> FastAPI:
    from headatlas.web.server.app import create

    atlas.needed("collect")
    return create(atlas, hosts=hosts, token=token, model=model, edit=edit)


def _check_notes(atlas: Atlas, edit: bool) -> None:
    """An error if notes are to be edited and cannot be; a message if they cannot be read."""
    from headatlas.atlas import notes

    if edit:
        notes.check_editable(atlas.files)
        return
    try:
        notes.read(atlas.files)
    except StoreError as error:
        progress.say(f"without notes: {error}")


def _server(app: FastAPI) -> Any:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip


def allowed(host: str, token: str | None) -> tuple[str, ...] | None:
    """The names by which clients may call the server, None for any; an error where a token is needed."""
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isalnum()):
        raise OptionError(f"--token: at least {SHORTEST_TOKEN} letters and digits are needed")
    if host in ("127.0.0.1", "localhost", "::1"):
        return LOOPBACK
    if token is None:
        raise OptionError(f"--host {host} can be reached from other machines: choose a --token for their users")
    return None if host in ALL_ADDRESSES else (*LOOPBACK, f"[{host}]" if ":" in host else host.lower())


def bind(host: str, port: int, *, quiet: bool = False) -> socket.socket:
    """A socket that listens on this port, or on the next free one."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port {port}: choose a number from 1 to 65535, or 0 for any that is free")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise OptionError(f"--host {host} is not an address of this machine: {error.strerror}") from error
    last_error: OSError | None = None
    for number in [port] if port == 0 else [*range(port, min(port + MORE_PORTS, 65536)), 0]:
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            if os.name == "posix":
                listening.setsockopt(
                    socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
                )  # a port that was just closed is free at once
            listening.bind((address[0], number, *address[2:]))
            listening.listen(128)
        except OSError as error:
            listening.close()
            last_error = error
            continue
        if number != port and not quiet:
            progress.say(f"port {port} is in use: using {listening.getsockname()[1]}")
        return listening
    raise OptionError(f"--host {host}: cannot listen there ({last_error.strerror if last_error else 'no free port'})")


def address_of(host: str, port: int) -> str:
    """The address to open in a browser."""
    name = "127.0.0.1" if host == "0.0.0.0" else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def _has_screen() -> bool:
    """Whether a browser would open a window rather than take over the terminal."""
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
