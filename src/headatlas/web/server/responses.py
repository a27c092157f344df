"""How responses are sent: with an ETag, compressed if that pays, and from memory if they were made before."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request, Response

from headatlas.web.api.endpoints import ENDPOINTS, JSON, PNG
from headatlas.web.api.payloads.base import Payload
from headatlas.web.compute.cache import LRUCache
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.watcher import AtlasWatcher

CACHE_BYTES = 192 << 20
SMALLEST = 1024  # bytes that are worth compressing
PROBE = 64 << 10  # bytes that are compressed to see whether it pays
WORTHWHILE = 0.9  # of the size
GZIP = 31  # window bits that make zlib write gzip
NO_STORE = {"cache-control": "no-store"}


@dataclass(frozen=True)
class ResponseBody:
    """The bytes of a response, compressed or not."""

    content: bytes
    compressed: bool = False

    @staticmethod
    def of(content: bytes, media: str) -> ResponseBody:
        """Compressed if that pays."""
        if media == PNG or len(content) < SMALLEST:
            return ResponseBody(content)
        if media != JSON and len(compress(content[:PROBE])) > WORTHWHILE * len(content[:PROBE]):
            return ResponseBody(content)  # noise does not get smaller
        return ResponseBody(compress(content), True)

    def plain(self) -> bytes:
        """The bytes themselves."""
        return zlib.decompress(self.content, GZIP) if self.compressed else self.content


def compress(content: bytes) -> bytes:
    """As gzip, quickly: most clients are on the same machine. Equal bytes give equal bytes."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, GZIP)
    return compressor.compress(content) + compressor.flush()


def to_bytes(response: Payload | bytes) -> bytes:
    """A payload as JSON, or a buffer as it is."""
    return response if isinstance(response, bytes) else response.model_dump_json().encode()


class ResponseCache:
    """Makes responses from the atlas, and keeps them as long as the atlas does not change."""

    def __init__(self, watcher: AtlasWatcher) -> None:
        self.watcher = watcher
        self._bodies: LRUCache[ResponseBody] = LRUCache(CACHE_BYTES, lambda body: len(body.content))

    def warm_up(self) -> None:
        """Read what the first response needs while the browser is still opening."""
        with contextlib.suppress(Exception):  # the request itself will report it
            self.watcher.read(ENDPOINTS.atlas.function)

    def respond(self, request: Request, make: Callable[[Snapshot], Payload | bytes], media: str) -> Response:
        """The response to a request that its path describes completely."""
        tag = self.watcher.snapshot().tag
        if is_current(request, tag):
            return Response(status_code=304, headers=cache_headers(tag))
        path = request.url.path
        with self._bodies.lock((path, tag)):
            body = self._bodies.get((path, tag))
            if body is None:
                response, snapshot = self.watcher.read(make)
                body, tag = ResponseBody.of(to_bytes(response), media), snapshot.tag
                self._bodies.put((path, tag), body)
        return respond(request, body, media, cache_headers(tag))


def is_current(request: Request, tag: str) -> bool:
    """Whether the client has this response already."""
    return f'"{tag}"' in request.headers.get("if-none-match", "")


def respond(request: Request, body: ResponseBody, media: str, headers: dict[str, str]) -> Response:
    """A response, compressed if the client accepts it."""
    if body.compressed and "gzip" in request.headers.get("accept-encoding", "").lower():
        return Response(body.content, headers=headers | {"content-encoding": "gzip"}, media_type=media)
    return Response(body.plain(), headers=headers, media_type=media)


def cache_headers(tag: str) -> dict[str, str]:
    """Headers of a response that is valid as long as its ETag."""
    return {"etag": f'W/"{tag}"', "cache-control": "no-cache", "vary": "accept-encoding"}
