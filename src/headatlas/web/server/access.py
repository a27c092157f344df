"""Who may ask what: the door of the server. Every answer passes here and gets the headers that keep the page safe."""

from __future__ import annotations

import hashlib
import hmac
import logging
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response

from headatlas.web.api.errors import Problem, failure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LONGEST = 2048  # bytes of an address
LARGEST = 1 << 20  # bytes of what is sent to us
PAGE_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
POLICY = f"{PAGE_POLICY}; frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"  # notebooks
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


class Guard:
    """Checks every request before the app sees it.

    `hosts` are the names by which this server may be called, None for any: a page of another site whose name leads to
    this machine would otherwise read the atlas. With a `token`, only who knows it is let in.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None, token: str | None) -> None:
        self.app, self.hosts, self.token = app, hosts, token
        digest = hashlib.sha256(f"headatlas {token}".encode()).hexdigest()
        self.cookie, self.secret = f"headatlas_{digest[:8]}", digest[8:]  # ports of one machine share their cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begun = False

        async def dressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            early = self._check(scope)
            if early is not None:
                await early(scope, receive, dressed)
                return
            await self.app(scope, _limited(receive), dressed)
        except Problem as problem:
            if not begun:
                await failure(problem)(scope, receive, dressed)
        except Exception:
            logging.getLogger("headatlas").exception("an answer failed: %s", scope["path"])
            if not begun:
                said = "Something went wrong inside. What it was is told where the server was started."
                await failure(Problem(500, said))(scope, receive, dressed)

    def _check(self, scope: Scope) -> Response | None:
        """Nothing if the request is in order; a redirect that takes the token out of the address; or a problem."""
        headers = Headers(scope=scope)
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > LONGEST:
            raise Problem(414, f"The address is longer than {LONGEST:,} characters.")
        host = headers.get("host", "")
        if self.hosts is not None and _name(host) not in self.hosts:
            names = ", ".join(self.hosts)
            raise Problem(421, f"This server is not called {host[:80]!r}.", f"Call it by one of these names: {names}.")
        if self.token is not None:
            early = self._admit(scope, headers)
            if early is not None:
                return early
        if scope["method"] not in ("GET", "HEAD"):
            _same_site(headers, host)
        return None

    def _admit(self, scope: Scope, headers: Headers) -> Response | None:
        """Let in who knows the token: by its cookie, as a bearer, or once in the address, which sets the cookie."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and scope["method"] == "GET" and self._right(given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            path = "/" + scope["path"].lstrip("/").replace("\\", "/")
            cookie = f"{self.cookie}={self.secret}; Path=/; HttpOnly; SameSite=Strict"
            location = "".join(c if c.isascii() and c.isprintable() and c != " " else "_" for c in path)
            found = location + (f"?{rest}" if rest else "")
            return Response(
                status_code=303, headers={"location": found, "set-cookie": cookie, "cache-control": "no-store"}
            )
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._right(bearer.strip()):
            return None
        if hmac.compare_digest(_cookies(headers).get(self.cookie, "").encode(), self.secret.encode()):
            return None
        raise Problem(
            401, "This atlas is shown to those who have its token.", "Open the address with ?token=… at its end.",
            {"www-authenticate": "Bearer"},
        )  # fmt: skip

    def _right(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _name(host: str) -> str:
    """The host without its port."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return name.lower()


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _same_site(headers: Headers, host: str) -> None:
    """What is sent to us must be JSON, which a form of another site cannot send, and come from our own page."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "Only application/json is read here.")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        raise Problem(403, "Only the page of this server may ask this.")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "Only the page of this server may ask this.")
    if int(headers["content-length"] if headers.get("content-length", "").isdigit() else 0) > LARGEST:
        raise Problem(413, f"At most {LARGEST:,} bytes are read.")


def _limited(receive: Receive) -> Receive:
    """Reads no more than is allowed, whatever the headers promise."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > LARGEST:  # FastAPI hands on this kind of error only
            raise HTTPException(413, f"At most {LARGEST:,} bytes are read.")
        return message

    return limited
