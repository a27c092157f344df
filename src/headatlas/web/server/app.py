"""The server as an application: routes, their errors, the guard at the door and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response

from headatlas.web.api import errors, openapi
from headatlas.web.server.access import LOOPBACK, Guard
from headatlas.web.server.static_files import BUILT, Pages

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
) -> FastAPI:
    """The server of one atlas.

    `static` is the folder of the built page. Only requests that call the server by one of `hosts` are answered and, if
    there is a `token`, only those that know it. Full maps are computed with `model`, else with the one that the atlas
    was made with, if it is at hand.
    """
    from headatlas.web.api.responses import Answers
    from headatlas.web.compute.live import Live
    from headatlas.web.views.site import Site

    app = openapi.plain()
    live = Live(model)
    app.state.live, app.state.answers = live, Answers(Site(atlas, live))
    pages = Pages(static)
    errors.install(app)

    def page(request: Request, path: str = "") -> Response:
        return pages.send(request, path)

    for address in ("/", "/{path:path}"):
        app.add_api_route(address, page, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_middleware(Guard, hosts=hosts, token=token)
    return app
