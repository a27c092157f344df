"""Every error in the one shape that the page understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.errors import DamagedChunk, DataError, HeadatlasError, ModelError, OptionError
from headatlas.web.api.payloads.base import ErrorDetail, ErrorResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI, Request, Response

STATUS: tuple[tuple[type[HeadatlasError], int], ...] = (
    (DamagedChunk, 503),
    (ModelError, 503),
    (DataError, 422),
    (OptionError, 422),
)
MESSAGES = {404: "There is nothing at this address.", 405: "This method is not allowed here."}


class RequestError(HeadatlasError):
    """A request that cannot be answered: the HTTP status, the reason, and what to do next, or the command to run."""

    def __init__(
        self,
        status: int,
        message: str,
        next: str = "",  # noqa: A002 - as in `ErrorDetail`
        *,
        command: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.next, self.command, self.headers = status, next, command, dict(headers or {})


def response(error: RequestError) -> Response:
    """An error as a response."""
    from fastapi import Response

    detail = ErrorDetail(status=error.status, message=str(error), next=error.next, command=error.command)
    payload = ErrorResponse(error=detail)
    headers = {"cache-control": "no-store", **error.headers}
    return Response(payload.model_dump_json(), error.status, headers, media_type="application/json")


def request_error(error: HeadatlasError) -> RequestError:
    """Any error of this package as a request that cannot be answered."""
    if isinstance(error, RequestError):
        return error
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 404)
    return RequestError(status, str(error))


def install(app: FastAPI) -> None:
    """Give every error of an app this shape."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def package_error(request: Request, error: Any) -> Response:
        return response(request_error(error))

    def invalid(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])[:60]
        return response(RequestError(422, f"{field or 'the request'}: {first['msg']}"[:300]))

    def http(request: Request, error: Any) -> Response:
        message = MESSAGES.get(error.status_code, str(error.detail))
        return response(RequestError(error.status_code, message, headers=error.headers))

    app.add_exception_handler(HeadatlasError, package_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
