"""The built page: its files, and no others."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import Request, Response

from headatlas.web.api.endpoints import ENDPOINTS, JSON, PNG
from headatlas.web.api.errors import RequestError
from headatlas.web.server.responses import ResponseBody, is_current, respond

BUILT = Path(__file__).parents[1] / "static"
SINGLE = "single"  # its folder with the script and the style of a page that is a single file
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": PNG,
    ".ico": "image/x-icon",
    ".json": JSON,
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
NOT_BUILT = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headatlas</title></head><body>
<h1>The page was not built</h1>
<p>This Headatlas was installed with HEADATLAS_SKIP_FRONTEND set, which leaves the page out.
Its data is available all the same: <a href="{ENDPOINTS.atlas.path()}">{ENDPOINTS.atlas.path()}</a>.</p>
<p>To build the page, install Headatlas again without that variable:</p>
<pre>pip install --force-reinstall --no-deps headatlas</pre>
<p>or, in a clone of its source:</p>
<pre>pip install -e .</pre>
</body></html>
"""


class StaticFiles:
    """The files of one folder; paths that lead out of it are not found."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder.resolve() if folder is not None else None
        self._bodies: dict[tuple[str, int], tuple[ResponseBody, str]] = {}

    def send(self, request: Request, path: str) -> Response:
        """A file."""
        if path in ("", "index.html") and not self.built:
            return Response(NOT_BUILT, media_type=MEDIA[".html"], headers={"cache-control": "no-store"})
        file = self.find(path or "index.html")
        if file is None:
            raise RequestError(404, "There is no such page.", "Start at the first page: /")
        body, tag = self._body(file)
        hashed = file.parent.name == "assets"  # the build puts a digest in their names
        caching = "public, max-age=31536000, immutable" if hashed else "no-cache"
        headers = {"etag": f'W/"{tag}"', "cache-control": caching, "vary": "accept-encoding"}
        if is_current(request, tag):
            return Response(status_code=304, headers=headers)
        return respond(request, body, MEDIA[file.suffix], headers)

    @property
    def built(self) -> bool:
        """Whether the page was built."""
        return self.folder is not None and (self.folder / "index.html").is_file()

    def find(self, path: str) -> Path | None:
        """The file at this path, if it is part of the page."""
        parts = path.split("/")
        if self.folder is None or any(
            not part or part.startswith(".") or "\\" in part or ":" in part for part in parts
        ):
            return None
        try:
            file = self.folder.joinpath(*parts).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):  # missing, a NUL in its name, a loop of links
            return None
        allowed = file.suffix in MEDIA and file.is_file() and file.is_relative_to(self.folder)
        return file if allowed else None

    def _body(self, file: Path) -> tuple[ResponseBody, str]:
        key = (str(file), file.stat().st_mtime_ns)
        if key not in self._bodies:
            content = file.read_bytes()
            media = PNG if file.suffix in (".png", ".ico", ".woff2") else JSON  # compressed already, or not
            self._bodies[key] = ResponseBody.of(content, media), hashlib.sha256(content).hexdigest()[:24]
        return self._bodies[key]
