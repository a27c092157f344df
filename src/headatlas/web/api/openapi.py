"""The schema of all answers: `python -m headatlas.web.api.openapi OUT.json`. Needs FastAPI and nothing else of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from headatlas import __version__
from headatlas.web.api import routes, routes_live, routes_tsne

TITLE, ADDRESS = "Headatlas", "/api/openapi.json"
ABOUT = "What every attention head of a transformer does, over a whole dataset. Buffers are u16 values, little-endian."


def plain() -> FastAPI:
    """An app with all routes and nothing behind them."""
    app = FastAPI(
        title=TITLE, version=__version__, description=ABOUT, openapi_url=ADDRESS, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    app.include_router(routes.router)
    app.include_router(routes_live.router)
    app.include_router(routes_tsne.router)
    return app


def schema() -> dict[str, Any]:
    """The schema."""
    return plain().openapi()


def main(target: str) -> None:
    """Write the schema to a file; left alone if it is the same, so that nothing is rebuilt in vain."""
    text = json.dumps(schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    file = Path(target)
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
