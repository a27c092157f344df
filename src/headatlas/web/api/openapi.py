"""The OpenAPI schema, and an app with a route for every endpoint. Needs FastAPI and pydantic only."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response

from headatlas import __version__
from headatlas.web.api.endpoints import ENDPOINTS, JSON, OPENAPI, PARAMETERS, Endpoint, parameters
from headatlas.web.api.payloads.base import ErrorResponse

DESCRIPTION = (
    "What every attention head of a transformer does, over a whole dataset. Buffers are u16 values, little-endian."
)
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorResponse, "description": "What is missing, and what to do."},
    "5XX": {"model": ErrorResponse, "description": "What went wrong, and what to do."},
}
Handler = Callable[..., Any]  # takes the request, then the parameters by name


def application(handler: Callable[[Endpoint], Handler]) -> FastAPI:
    """An app with a route for every address; `handler` gives the function that responds."""
    app = FastAPI(
        title="Headatlas", version=__version__, description=DESCRIPTION, openapi_url=f"/{OPENAPI}", docs_url=None,
        redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    for endpoint in ENDPOINTS:
        for template in endpoint.templates:
            app.add_api_route(
                f"/{template}",
                _with_signature(handler(endpoint), endpoint, template),
                name=endpoint.name,
                description=endpoint.doc,
                methods=["POST" if endpoint.body else "GET"],
                responses=_responses(endpoint),
                **({"response_model": endpoint.payload} if endpoint.payload else {"response_class": Response}),
            )
    return app


def _with_signature(handler: Handler, endpoint: Endpoint, template: str) -> Handler:
    """A handler with the parameters of its address, from which FastAPI parses the request."""
    types = {"request": Request} | {name: PARAMETERS[name] for name in parameters(template)}
    if endpoint.body:
        types["body"] = endpoint.body
    keyword = inspect.Parameter.KEYWORD_ONLY
    listed = [inspect.Parameter(name, keyword, annotation=annotation) for name, annotation in types.items()]
    handler.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    return handler


def _responses(endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    if endpoint.media == JSON:
        return ERRORS
    binary = {endpoint.media: {"schema": {"type": "string", "format": "binary"}}}
    return ERRORS | {200: {"description": endpoint.doc, "content": binary}}


def schema() -> dict[str, Any]:
    """The schema."""

    def unanswered(endpoint: Endpoint) -> Handler:
        return lambda request, **values: Response(status_code=501)

    return application(unanswered).openapi()


def text() -> str:
    """The schema as JSON."""
    return json.dumps(schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
