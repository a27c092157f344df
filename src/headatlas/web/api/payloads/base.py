"""The base class of payloads, and the shapes that several subjects share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Payload(BaseModel):
    """Base of every response: exactly the declared fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ErrorDetail(Payload):
    """What went wrong and what to do next."""

    status: int
    message: str
    next: str = ""
    command: str = ""  # that helps, to be run in a terminal


class ErrorResponse(Payload):
    """The shape of every error response."""

    error: ErrorDetail


class PositionScale(Payload):
    """How encoded positions become coordinates: `x + (value - TOP / 2) * step`, and the same for y; see `encoding`."""

    x: float
    y: float
    step: float
