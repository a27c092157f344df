"""The addresses of what is computed when it is asked for: full maps. Who goes away is not waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Attempt, Example
from headatlas.web.api.responses import BUFFER, JSON, Body, encoded, headers_of, matches, respond
from headatlas.web.api.routes import BUFFERS, FAILURES

if TYPE_CHECKING:
    from headatlas.web.compute.live import Job, Live
    from headatlas.web.views.site import View

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
LOOK = 0.1  # seconds after which we look whether the reader is still there

router = APIRouter(prefix="/api")


@router.get("/examples/{number}/full/{layer}.{head}.bin", response_class=Response, responses=BUFFERS)
async def full(request: Request, number: int, layer: int, head: int) -> Response:
    """Attention (query, key): a full map of an example."""
    view = await view_of(request)
    if matches(request, view.tag):
        return Response(status_code=304, headers=headers_of(view.tag))
    found = await run_in_threadpool(live_of(request).example, view, number, layer, head)
    return await _map(request, view, found, layer, head)


@router.post("/try.json", response_model=Example, responses=FAILURES)
async def attempt(request: Request, asked: Attempt) -> Response:
    """A text of one's own, as the model reads it."""
    view = await view_of(request)
    job = await run_in_threadpool(live_of(request).read, view, asked)
    made = await wait_for(request, job)
    return respond(request, Body(encoded(made), False), JSON, {"cache-control": "no-store"})


@router.get("/try/{key}/{layer}.{head}.bin", response_class=Response, responses=BUFFERS)
async def attempt_map(request: Request, key: Key, layer: int, head: int) -> Response:
    """Attention (query, key): a full map of a text of one's own."""
    view = await view_of(request)
    found = await run_in_threadpool(live_of(request).attempt, view, key, layer, head)
    return await _map(request, view, found, layer, head)


def live_of(request: Request) -> Live:
    """What computes."""
    live: Live = request.app.state.live
    return live


async def view_of(request: Request) -> View:
    """The atlas as it is now."""
    view: View = await run_in_threadpool(request.app.state.answers.site.view)
    return view


async def _map(request: Request, view: View, found: bytes | Job, layer: int, head: int) -> Response:
    if not isinstance(found, bytes):
        from headatlas.web.compute.live import one_map

        found = one_map(await wait_for(request, found), layer, head)
    return respond(request, Body(found, False), BUFFER, headers_of(view.tag))


async def wait_for(request: Request, job: Job) -> Any:
    """The result of a job, as long as the reader waits."""
    future = asyncio.wrap_future(job.future)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # also if nobody asks any more
    try:
        while not (await asyncio.wait([future], timeout=LOOK))[0]:
            if await request.is_disconnected():
                raise Problem(503, "The reader has gone.")
        return future.result()
    finally:
        live_of(request).leave(job)
