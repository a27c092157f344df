"""Everything that can go wrong, in the one shape the page understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.errors import DamagedChunk, DataError, HeadatlasError, ModelError, OptionError
from headatlas.web.api.payloads import Failure, Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI, Request, Response

STATUS: tuple[tuple[type[HeadatlasError], int], ...] = (
    (DamagedChunk, 503),
    (ModelError, 503),
    (DataError, 422),
    (OptionError, 422),
)
WORDS = {404: "there is no such thing here", 405: "this cannot be done here"}


class Problem(HeadatlasError):
    """A request that cannot be answered: with what status, why, and what to do next."""

    def __init__(self, status: int, message: str, next: str = "", headers: Mapping[str, str] | None = None) -> None:  # noqa: A002 - as it is called in `Fault`
        super().__init__(message)
        self.status, self.next, self.headers = status, next, dict(headers or {})


def body(status: int, message: str, next: str = "") -> bytes:  # noqa: A002
    """An error as JSON."""
    return Failure(error=Fault(status=status, message=message, next=next)).model_dump_json().encode()


def failure(error: Problem) -> Response:
    """An error as an answer."""
    from fastapi import Response

    headers = {"cache-control": "no-store", **error.headers}
    content = body(error.status, str(error), error.next)
    return Response(content, error.status, headers, media_type="application/json")


def problem(error: HeadatlasError) -> Problem:
    """Any error of ours as a request that cannot be answered."""
    if isinstance(error, Problem):
        return error
    return Problem(next((status for kind, status in STATUS if isinstance(error, kind)), 404), str(error))


def install(app: FastAPI) -> None:
    """Make every error of an app one of these."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def ours(request: Request, error: Any) -> Response:
        return failure(problem(error))

    def invalid(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])[:60]
        return failure(Problem(422, f"{where or 'the request'}: {first['msg']}"[:300]))

    def http(request: Request, error: Any) -> Response:
        words = WORDS.get(error.status_code, str(error.detail))
        return failure(Problem(error.status_code, words, headers=error.headers))

    app.add_exception_handler(HeadatlasError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
