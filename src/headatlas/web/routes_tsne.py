"""The addresses of head t-SNE: of an example, or of a text of one's own. Computed when asked for, as full maps are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from headatlas.web.answers import BUFFER, JSON, Body, encoded, headers_of, matches, respond
from headatlas.web.errors import Problem
from headatlas.web.payloads_tsne import Tsne
from headatlas.web.routes import BUFFERS, FAILURES
from headatlas.web.routes_live import Key, live_of, view_of, wait_for

if TYPE_CHECKING:
    from headatlas.web.tsne import Laid

Name = Literal["heads", "states"]

router = APIRouter(prefix="/api")


@router.get("/examples/{number}/tsne.json", response_model=Tsne, responses=FAILURES)
async def example(request: Request, number: int) -> Response:
    """An example laid out as every head reads it."""
    return await _answer(request, number)


@router.get("/examples/{number}/tsne/{name}.bin", response_class=Response, responses=BUFFERS)
async def example_positions(request: Request, number: int, name: Name) -> Response:
    """Positions of all layouts of an example: of heads, or of hidden states."""
    return await _answer(request, number, name)


@router.get("/examples/{number}/tsne/maximum/{layer}.bin", response_class=Response, responses=BUFFERS)
async def example_maximum(request: Request, number: int, layer: int) -> Response:
    """The largest attention over the heads of a layer (query, key), then which head has it."""
    return await _answer(request, number, f"maximum/{layer}")


@router.get("/try/{key}/tsne.json", response_model=Tsne, responses=FAILURES)
async def attempt(request: Request, key: Key) -> Response:
    """A text of one's own laid out as every head reads it."""
    return await _answer(request, key)


@router.get("/try/{key}/tsne/{name}.bin", response_class=Response, responses=BUFFERS)
async def attempt_positions(request: Request, key: Key, name: Name) -> Response:
    """Positions of all layouts of a text of one's own: of heads, or of hidden states."""
    return await _answer(request, key, name)


@router.get("/try/{key}/tsne/maximum/{layer}.bin", response_class=Response, responses=BUFFERS)
async def attempt_maximum(request: Request, key: Key, layer: int) -> Response:
    """The largest attention over the heads of a layer (query, key), then which head has it."""
    return await _answer(request, key, f"maximum/{layer}")


async def _answer(request: Request, what: int | str, name: str = "") -> Response:
    """The answer, or one of its buffers."""
    view = await view_of(request)
    if matches(request, view.tag):
        return Response(status_code=304, headers=headers_of(view.tag))
    found = await run_in_threadpool(live_of(request).laid, view, what)
    from headatlas.web.live import Job

    laid: Laid = await wait_for(request, found) if isinstance(found, Job) else found
    if not name:
        return respond(request, Body.of(encoded(laid.answer), JSON), JSON, headers_of(view.tag))
    if name not in laid.buffers:
        raise Problem(404, f"There is no {name} here.")
    return respond(request, Body.of(laid.buffers[name], BUFFER), BUFFER, headers_of(view.tag))
