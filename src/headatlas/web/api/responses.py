"""How an answer is sent: with its tag, packed if that pays, and from memory if it was made before."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request, Response

from headatlas.web.api.payloads import Payload
from headatlas.web.compute.cache import Kept

if TYPE_CHECKING:
    from headatlas.web.views.site import Site, View

JSON, BUFFER, PNG = "application/json", "application/octet-stream", "image/png"
KEPT = 192 << 20  # bytes of answers
LEAST = 1024  # bytes that are worth packing
PROBE = 64 << 10  # bytes that are packed to see whether it pays
WORTH = 0.9
GZIP = 31  # window bits that make zlib write gzip


@dataclass(frozen=True)
class Body:
    """The bytes of an answer, packed or not."""

    content: bytes
    packed: bool

    @staticmethod
    def of(content: bytes, media: str) -> Body:
        """Packed if that pays."""
        if media == PNG or len(content) < LEAST:
            return Body(content, False)
        if media != JSON and len(pack(content[:PROBE])) > WORTH * len(content[:PROBE]):
            return Body(content, False)  # noise stays as long as it is
        return Body(pack(content), True)

    def plain(self) -> bytes:
        """The bytes themselves."""
        return zlib.decompress(self.content, GZIP) if self.packed else self.content


def pack(content: bytes) -> bytes:
    """As gzip, quickly: most readers sit at the same machine. The same bytes give the same bytes."""
    packer = zlib.compressobj(1, zlib.DEFLATED, GZIP)
    return packer.compress(content) + packer.flush()


def encoded(made: Payload | bytes) -> bytes:
    """An answer as bytes."""
    return made if isinstance(made, bytes) else made.model_dump_json().encode()


class Answers:
    """Makes answers, and keeps them as long as the atlas stays as it is."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._kept: Kept[Body] = Kept(KEPT, lambda body: len(body.content))

    def prepare(self) -> None:
        """Find out what the first answer needs, while the page is still being opened."""
        from headatlas.web.views import cards

        with contextlib.suppress(Exception):  # whoever asks will be told
            self.site.make(cards.card)

    def send(self, request: Request, make: Callable[[View], Payload | bytes], media: str) -> Response:
        """The answer to a request whose address tells all."""
        tag = self.site.view().tag
        if matches(request, tag):
            return Response(status_code=304, headers=headers_of(tag))
        path = request.url.path
        with self._kept.making((path, tag)):
            body = self._kept.get((path, tag))
            if body is None:
                made, view = self.site.make(make)
                body, tag = Body.of(encoded(made), media), view.tag
                self._kept.put((path, tag), body)
        return respond(request, body, media, headers_of(tag))


def matches(request: Request, tag: str) -> bool:
    """Whether the reader has this very answer already."""
    return f'"{tag}"' in request.headers.get("if-none-match", "")


def respond(request: Request, body: Body, media: str, headers: dict[str, str]) -> Response:
    """A body, packed if the reader understands it."""
    if body.packed and "gzip" in request.headers.get("accept-encoding", "").lower():
        return Response(body.content, headers=headers | {"content-encoding": "gzip"}, media_type=media)
    return Response(body.plain(), headers=headers, media_type=media)


def headers_of(tag: str) -> dict[str, str]:
    """Headers of an answer that holds as long as its tag does."""
    return {"etag": f'W/"{tag}"', "cache-control": "no-cache", "vary": "accept-encoding"}
