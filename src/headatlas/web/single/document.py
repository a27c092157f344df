"""The page as one HTML document: script, style, icon and contents in it, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from headatlas.errors import HeadatlasError
from headatlas.web.server.static_files import BUILT, SINGLE
from headatlas.web.single.contents import Contents

BLOCK = "headatlas-embedded"  # id of the element with the contents, as in lib/embedded.ts
FILES = re.compile(rb'\s*<(?:script|link rel="(?:stylesheet|modulepreload)")[^>]*>(?:</script>)?')
ICON = re.compile(rb'href="[^"]*icon\.svg"')


def document(contents: Contents, static: Path = BUILT) -> str:
    """The page with these contents."""
    script, style = _part(static, "page.js"), _part(static, "page.css")
    page = FILES.sub(b"", _read(static / "index.html"))
    page = ICON.sub(b'href="data:image/svg+xml;base64,' + base64.b64encode(_read(static / "icon.svg")) + b'"', page)
    head, body = page.decode().split("</head>")
    policy = f'<meta http-equiv="content-security-policy" content="{_policy(script, style)}">'
    block = f'<script type="application/json" id="{BLOCK}">{contents.json()}</script>'
    parts = [
        head.replace("<head>", f"<head>{policy}", 1), f"<style>{style}</style></head>",
        body.replace("</body>", f'{block}<script type="module">{script}</script></body>'),
    ]  # fmt: skip
    return "".join(parts)


def _part(static: Path, name: str) -> str:
    """The text of a part of the page, written so that an element can hold it."""
    text = _read(static / SINGLE / name).decode()
    return re.sub(r"<(?=!--|/script|/style)", r"\\x3c" if name.endswith(".js") else r"\\3c ", text)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        raise HeadatlasError(
            "the page was not built, so it cannot be written as a single file: install Headatlas again without "
            "HEADATLAS_SKIP_FRONTEND"
        ) from None


def _policy(script: str, style: str) -> str:
    """Nothing but this script and this style; no connection to anything."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data: blob:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
