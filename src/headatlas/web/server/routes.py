"""How every address of `endpoints` is answered: from the atlas, or by computing with the model."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from headatlas.web.api.endpoints import Endpoint
from headatlas.web.api.errors import RequestError
from headatlas.web.api.openapi import Handler
from headatlas.web.api.payloads.base import Payload
from headatlas.web.compute.jobs import Job, JobQueue, Pending
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.server.access import check_sender, is_own_page
from headatlas.web.server.responses import (
    NO_STORE,
    ResponseBody,
    ResponseCache,
    cache_headers,
    is_current,
    respond,
    to_bytes,
)

POLL = 0.1  # seconds between two looks at whether the client is still connected


def handler(endpoint: Endpoint) -> Handler:
    """The function that responds at an address."""
    if endpoint.edits:
        return lambda request, **values: edit(request, endpoint, values)
    if not endpoint.live:
        return lambda request, **values: read(request, endpoint, values)

    async def computing(request: Request, **values: Any) -> Response:
        return await compute(request, endpoint, values)

    return computing


def read(request: Request, endpoint: Endpoint, values: dict[str, Any]) -> Response:
    """A response that is read from the atlas."""
    responses: ResponseCache = request.app.state.responses
    if endpoint.warms_model and is_own_page(request.headers) and responses.watcher.snapshot().live:
        request.app.state.runner.warm_up()
    make = partial(endpoint.function, **values)
    if endpoint.cached:
        return responses.respond(request, make, endpoint.media)
    return _fresh(request, responses.watcher.read(make)[0], endpoint)


def edit(request: Request, endpoint: Endpoint, values: dict[str, Any]) -> Response:
    """A change of what is beside the atlas; only for our own page, and where the server was started for it."""
    check_sender(request.headers)
    snapshot = request.app.state.responses.watcher.snapshot()
    return _fresh(request, endpoint.function(snapshot, **values), endpoint)


def _fresh(request: Request, payload: Payload | bytes, endpoint: Endpoint) -> Response:
    """A response that is not kept."""
    return respond(request, ResponseBody.of(to_bytes(payload), endpoint.media), endpoint.media, NO_STORE)


async def compute(request: Request, endpoint: Endpoint, values: dict[str, Any]) -> Response:
    """A response that is computed with the model, canceled when the client disconnects; only for our own page."""
    check_sender(request.headers)
    runner: ModelRunner = request.app.state.runner
    snapshot = await run_in_threadpool(request.app.state.responses.watcher.snapshot)
    if endpoint.cached and is_current(request, snapshot.tag):
        return Response(status_code=304, headers=cache_headers(snapshot.tag))
    result = await run_in_threadpool(partial(endpoint.function, runner, snapshot, **values))
    if isinstance(result, Pending):
        result = result.take(await wait_for(request, runner.jobs, result.job))
    content = to_bytes(result)
    body = ResponseBody.of(content, endpoint.media) if endpoint.compressed else ResponseBody(content)
    return respond(request, body, endpoint.media, cache_headers(snapshot.tag) if endpoint.cached else NO_STORE)


async def wait_for(request: Request, jobs: JobQueue, job: Job) -> Any:
    """The result of a job, as long as the client is connected."""
    future = asyncio.wrap_future(job.future)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # also if nobody asks any more
    try:
        while not (await asyncio.wait([future], timeout=POLL))[0]:
            if await request.is_disconnected():
                raise RequestError(503, "The client has disconnected.")
        return future.result()
    finally:
        jobs.leave(job)
