"""The server as an application: routes, errors, access control and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response

from headatlas.web.api import errors, openapi
from headatlas.web.server.access import LOOPBACK, AccessControl
from headatlas.web.server.static_files import BUILT, StaticFiles

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model


def create(
    atlas: Atlas,
    *,
    static: Path | None = BUILT,
    token: str | None = None,
    hosts: tuple[str, ...] | None = LOOPBACK,
    model: str | Model | None = None,
    edit: bool = False,
) -> FastAPI:
    """The server of one atlas.

    Parameters
    ----------
    atlas
        What is served.
    static
        Folder of the built page.
    token
        If given, only clients that know it are answered.
    hosts
        Names by which clients may call the server; None allows any.
    model
        Model for full maps. By default the one the atlas was made with, if it is available.
    edit
        Whether the page may write names, notes and selections into the file beside the atlas.
    """
    from headatlas.web.compute.runner import ModelRunner
    from headatlas.web.server.responses import ResponseCache
    from headatlas.web.server.routes import handler
    from headatlas.web.views.watcher import AtlasWatcher

    app = openapi.application(handler)
    runner = ModelRunner(model)
    app.state.runner, app.state.responses = runner, ResponseCache(AtlasWatcher(atlas, runner.loader, editable=edit))
    files = StaticFiles(static)
    errors.install(app)

    def page(request: Request, path: str = "") -> Response:
        return files.send(request, path)

    for address in ("/", "/{path:path}"):
        app.add_api_route(address, page, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_middleware(AccessControl, hosts=hosts, token=token)
    return app
