"""The server as an application: routes, their errors, the guard at the door and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response

from headatlas.web import errors, schema
from headatlas.web.guard import LOOPBACK, Guard
from headatlas.web.pages import BUILT, Pages

if TYPE_CHECKING:
    from headatlas.models.facts import Model
    from headatlas.store import Atlas


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
    from headatlas.web.answers import Answers
    from headatlas.web.live import Live
    from headatlas.web.site import Site

    app = schema.plain()
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
