"""Access control: checks every request, and adds security headers to every response."""

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

from headatlas.web.api.errors import RequestError, response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LONGEST_ADDRESS = 2048  # bytes
LARGEST_BODY = 1 << 20  # bytes
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


class AccessControl:
    """Middleware that checks every request before the app sees it.

    `hosts` are the names by which clients may call this server, None for any: a page of another site whose name
    resolves to this machine could otherwise read the atlas. If there is a `token`, clients need to know it.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None, token: str | None) -> None:
        self.app, self.hosts, self.token = app, hosts, token
        digest = hashlib.sha256(f"headatlas {token}".encode()).hexdigest()
        self.cookie, self.secret = f"headatlas_{digest[:8]}", digest[8:]  # ports of one machine share cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond, or pass the request on to the app."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            redirect = self._check(scope)
            if redirect is not None:
                await redirect(scope, receive, send_with_headers)
                return
            await self.app(scope, _limited(receive), send_with_headers)
        except RequestError as error:
            if not started:
                await response(error)(scope, receive, send_with_headers)
        except Exception:
            logging.getLogger("headatlas").exception("internal error: %s", scope["path"])
            if not started:
                message = "Internal error. The details are printed where the server was started."
                await response(RequestError(500, message))(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> Response | None:
        """None if the request is allowed, or a redirect that removes the token from the address; else an error."""
        headers = Headers(scope=scope)
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            raise RequestError(414, f"The address is longer than {LONGEST_ADDRESS:,} characters.")
        host = headers.get("host", "")
        if self.hosts is not None and _name(host) not in self.hosts:
            names = ", ".join(self.hosts)
            raise RequestError(
                421, f"This server is not called {host[:80]!r}.", f"Call it by one of these names: {names}."
            )
        if self.token is not None:
            redirect = self._check_token(scope, headers)
            if redirect is not None:
                return redirect
        if scope["method"] not in ("GET", "HEAD"):
            _check_body(headers)
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Accept the token as a cookie, as a bearer, or once in the address, which sets the cookie."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and scope["method"] == "GET" and self._is_token(given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            path = "/" + scope["path"].lstrip("/").replace("\\", "/")
            cookie = f"{self.cookie}={self.secret}; Path=/; HttpOnly; SameSite=Strict"
            location = "".join(c if c.isascii() and c.isprintable() and c != " " else "_" for c in path)
            location += f"?{rest}" if rest else ""
            return Response(
                status_code=303, headers={"location": location, "set-cookie": cookie, "cache-control": "no-store"}
            )
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer.strip()):
            return None
        if hmac.compare_digest(_cookies(headers).get(self.cookie, "").encode(), self.secret.encode()):
            return None
        raise RequestError(
            401, "A token is needed to see this atlas.", "Open the address with ?token=… at its end.",
            headers={"www-authenticate": "Bearer"},
        )  # fmt: skip

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _name(host: str) -> str:
    """The host without its port."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return name.lower()


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {name: cookie.value for name, cookie in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _check_body(headers: Headers) -> None:
    """A request with a body must be JSON, which a form of another site cannot send, and come from this page."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, "Only application/json is accepted.")
    check_sender(headers)
    if int(headers["content-length"] if headers.get("content-length", "").isdigit() else 0) > LARGEST_BODY:
        raise RequestError(413, f"At most {LARGEST_BODY:,} bytes are accepted.")


def is_own_page(headers: Headers) -> bool:
    """Whether this server's page sent a request, or its user: by the address bar, or by a tool that is no browser.

    Browsers say where a request comes from: in `Sec-Fetch-Site`, and, except for simple GET requests, in `Origin`.
    """
    origin = headers.get("origin")
    if origin is not None and _netloc(origin) != headers.get("host", "").lower():
        return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def check_sender(headers: Headers) -> None:
    """Refuse a request that a page of another site sent."""
    if not is_own_page(headers):
        raise RequestError(
            403, "Only the page of this server may send this request.", "Open this page, or type the address."
        )


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # such as http://[
        return ""


def _limited(receive: Receive) -> Receive:
    """Reads no more than allowed, whatever the headers say."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > LARGEST_BODY:  # FastAPI passes on this kind of error only
            raise HTTPException(413, f"At most {LARGEST_BODY:,} bytes are accepted.")
        return message

    return limited
