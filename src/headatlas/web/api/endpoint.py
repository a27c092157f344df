"""One address of the API: its parameters, what it responds with, and how."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Path

from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.tsne import VARIANTS

PREFIX = "api/"
OPENAPI = f"{PREFIX}openapi.json"
TEXT = ("examples/{example}", "try/{key}")  # what {text} stands for: an example of the atlas, or a custom text
JSON, BUFFER, PNG = "application/json", "application/octet-stream", "image/png"
MEDIA = {"json": JSON, "bin": BUFFER, "png": PNG}  # by the ending of an address

Name = Annotated[str, Path(min_length=1, max_length=100)]
PARAMETERS: dict[str, Any] = {  # the type of every parameter
    "projection": Name,
    "column": Name,
    "clustering": Name,
    "cluster": int,
    "example": int,
    "key": Annotated[str, Path(pattern="^[0-9a-f]{32}$")],
    "layer": int,
    "head": int,
    "variant": Literal[tuple(VARIANTS)],
    "layouts": Literal["heads", "states"],
    "embedding": Name,
    "measure": Literal["norm", "trust", "kept"],
    "point": int,
    "table": Name,
    "comparison": Name,
    "step": int,
    "model": int,
    "place": int,
}


@dataclass
class Endpoint:
    """An address, what it responds with, and how.

    `template` is the address below `api/`; `{text}` in it makes two addresses, see `TEXT`. `source` names the function
    of `headatlas.web` that makes the response, as module:function. Functions in `views` take a `Snapshot` of the atlas
    and the parameters of the address; functions in `compute` take a `ModelRunner` before these.
    """

    template: str
    source: str
    doc: str
    payload: type[Payload] | None = None  # of JSON
    body: type[Payload] | None = None  # what is sent along: the endpoint is a POST
    over: str | None = None  # what an export writes it for, see `headatlas.web.export_items`; None: not exported
    cached: bool = True  # the client may keep it as long as its ETag is valid
    compressed: bool = True  # if that makes it smaller
    warms_model: bool = False  # the page usually asks for full maps next
    edits: bool = False  # changes the notes, which are beside the atlas
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def live(self) -> bool:
        """Whether it is computed with the model on request, rather than read from the atlas."""
        return self.source.startswith("compute.")

    @property
    def media(self) -> str:
        """The media type of the response."""
        return MEDIA[self.template.rpartition(".")[2]]

    @cached_property
    def templates(self) -> tuple[str, ...]:
        """The addresses with their parameters, relative to the page."""
        return tuple(PREFIX + template for template in expand(self.template))

    def path(self, **values: str | int) -> str:
        """The address for these parameters, relative to the page."""
        for template in self.templates:
            if set(parameters(template)) == set(values):
                return template.format_map({name: quote(str(value), safe="") for name, value in values.items()})
        raise TypeError(f"{self.name} has the address {' or '.join(self.templates)}, not one for {sorted(values)}")

    @property
    def function(self) -> Callable[..., Any]:
        """The function that makes the response."""
        module, _, name = self.source.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(f"headatlas.web.{module}"), name)
        return function


def expand(template: str) -> tuple[str, ...]:
    """A template for each kind of text, if it holds `{text}`.

    >>> expand("{text}/{variant}.json")
    ('examples/{example}/{variant}.json', 'try/{key}/{variant}.json')
    """
    return tuple(template.replace("{text}", text) for text in TEXT) if "{text}" in template else (template,)


def parameters(template: str) -> list[str]:
    """The names of the parameters of a template, in order.

    >>> parameters("maps/{example}/{layer}.{head}.bin")
    ['example', 'layer', 'head']
    """
    return re.findall(r"{(\w+)}", template)
