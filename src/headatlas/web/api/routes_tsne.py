"""The addresses of head t-SNE: of an example, or of a text of one's own. Computed when asked for, as full maps are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads_tsne import Progress, Tsne
from headatlas.web.api.responses import BUFFER, JSON, Body, encoded, headers_of, matches, respond
from headatlas.web.api.routes import BUFFERS, FAILURES
from headatlas.web.api.routes_live import Key, live_of, view_of, wait_for

if TYPE_CHECKING:
    from headatlas.web.compute.tsne import Laid

How = Literal["tsne", "tsne-words", "tsne-plain", "tsne-plain-words"]  # see `payloads_tsne.Tsne`
Name = Literal["heads", "states"]

router = APIRouter(prefix="/api")


@router.get("/examples/{number}/{how}.json", response_model=Tsne, responses=FAILURES)
async def example(request: Request, number: int, how: How) -> Response:
    """An example laid out as every head reads it."""
    return await _answer(request, number, how)


@router.get("/examples/{number}/{how}/progress.json", response_model=Progress, responses=FAILURES)
async def example_progress(request: Request, number: int, how: How) -> Response:
    """How far the layouts of an example are; not in an exported page."""
    return await _progress(request, number, how)


@router.get("/examples/{number}/{how}/{name}.bin", response_class=Response, responses=BUFFERS)
async def example_positions(request: Request, number: int, how: How, name: Name) -> Response:
    """Positions of all layouts of an example: of heads, or of hidden states."""
    return await _answer(request, number, how, name)


@router.get("/examples/{number}/{how}/maximum/{layer}.bin", response_class=Response, responses=BUFFERS)
async def example_maximum(request: Request, number: int, how: How, layer: int) -> Response:
    """Maximum attention of a layer (head, key), then the query that gives it (code, head, key)."""
    return await _answer(request, number, how, f"maximum/{layer}")


@router.get("/try/{key}/{how}.json", response_model=Tsne, responses=FAILURES)
async def attempt(request: Request, key: Key, how: How) -> Response:
    """A text of one's own laid out as every head reads it."""
    return await _answer(request, key, how)


@router.get("/try/{key}/{how}/progress.json", response_model=Progress, responses=FAILURES)
async def attempt_progress(request: Request, key: Key, how: How) -> Response:
    """How far the layouts of a text of one's own are."""
    return await _progress(request, key, how)


@router.get("/try/{key}/{how}/{name}.bin", response_class=Response, responses=BUFFERS)
async def attempt_positions(request: Request, key: Key, how: How, name: Name) -> Response:
    """Positions of all layouts of a text of one's own: of heads, or of hidden states."""
    return await _answer(request, key, how, name)


@router.get("/try/{key}/{how}/maximum/{layer}.bin", response_class=Response, responses=BUFFERS)
async def attempt_maximum(request: Request, key: Key, how: How, layer: int) -> Response:
    """Maximum attention of a layer (head, key), then the query that gives it (code, head, key)."""
    return await _answer(request, key, how, f"maximum/{layer}")


async def _answer(request: Request, what: int | str, how: How, name: str = "") -> Response:
    """The answer, or one of its buffers."""
    view = await view_of(request)
    if matches(request, view.tag):
        return Response(status_code=304, headers=headers_of(view.tag))
    found = await run_in_threadpool(live_of(request).laid, view, what, how)
    from headatlas.web.compute.live import Job

    laid: Laid = await wait_for(request, found) if isinstance(found, Job) else found
    if not name:
        return respond(request, Body.of(encoded(laid.answer), JSON), JSON, headers_of(view.tag))
    if name not in laid.buffers:
        raise Problem(404, f"There is no {name} here.")
    return respond(request, Body.of(laid.buffers[name], BUFFER), BUFFER, headers_of(view.tag))


async def _progress(request: Request, what: int | str, how: How) -> Response:
    done, total = live_of(request).laying(await view_of(request), what, how)
    body = Body(encoded(Progress(done=done, total=total)), False)
    return respond(request, body, JSON, {"cache-control": "no-store"})
