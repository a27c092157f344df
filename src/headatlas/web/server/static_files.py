"""The page itself: the files that were built beside this one, and no others."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import Request, Response

from headatlas.web.api.errors import Problem
from headatlas.web.api.responses import Body, matches, respond

BUILT = Path(__file__).parents[1] / "static"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headatlas</title></head><body>
<h1>The page was not built</h1>
<p>This Headatlas was installed with HEADATLAS_SKIP_FRONTEND set, which leaves the page out.
Its data is here all the same: <a href="api/atlas.json">api/atlas.json</a>.</p>
<p>To build the page, install Headatlas again without that variable:</p>
<pre>pip install --force-reinstall --no-deps headatlas</pre>
<p>or, in a clone of its source:</p>
<pre>pip install -e .</pre>
</body></html>
"""


class Pages:
    """Files of one folder; what leads out of it is not there."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder.resolve() if folder is not None else None
        self._bodies: dict[tuple[str, int], tuple[Body, str]] = {}

    def send(self, request: Request, path: str) -> Response:
        """A file."""
        if path in ("", "index.html") and not self.built:
            return Response(NOT_BUILT, media_type=KINDS[".html"], headers={"cache-control": "no-store"})
        file = self.find(path or "index.html")
        if file is None:
            raise Problem(404, "There is no such page.", "Start at the first page: /")
        body, tag = self._body(file)
        hashed = file.parent.name == "assets"  # the build puts a digest in their names
        keep = "public, max-age=31536000, immutable" if hashed else "no-cache"
        headers = {"etag": f'W/"{tag}"', "cache-control": keep, "vary": "accept-encoding"}
        if matches(request, tag):
            return Response(status_code=304, headers=headers)
        return respond(request, body, KINDS[file.suffix], headers)

    @property
    def built(self) -> bool:
        """Whether there is a page."""
        return self.folder is not None and (self.folder / "index.html").is_file()

    def find(self, path: str) -> Path | None:
        """The file at this path, if it is one of ours."""
        parts = path.split("/")
        if self.folder is None or any(
            not part or part.startswith(".") or "\\" in part or ":" in part for part in parts
        ):
            return None
        try:
            file = self.folder.joinpath(*parts).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):  # not there, a NUL in it, a ring of links
            return None
        known = file.suffix in KINDS and file.is_file() and file.is_relative_to(self.folder)
        return file if known else None

    def _body(self, file: Path) -> tuple[Body, str]:
        key = (str(file), file.stat().st_mtime_ns)
        if key not in self._bodies:
            content = file.read_bytes()
            kind = "image/png" if file.suffix in (".png", ".ico", ".woff2") else "application/json"  # packed or not
            self._bodies[key] = Body.of(content, kind), hashlib.sha256(content).hexdigest()[:24]
        return self._bodies[key]
