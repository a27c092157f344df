"""A real browser for tests, screenshots and benchmarks: the system's Chromium."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader", "--force-color-profile=srgb",
]  # fmt: skip


def chromium() -> str | None:
    """The path of Chromium: the one that HEADATLAS_BROWSER names, or one on the path. `make browser` installs it."""
    return os.environ.get("HEADATLAS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched(*flags: str) -> Iterator[Any]:
    """A running browser."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    if path is None:
        raise FileNotFoundError("no Chromium: run `make browser`, or name one in HEADATLAS_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


def location(page: Any) -> str:
    """The URL of the page, as the page has it: `page.url` changes only after the event of a navigation."""
    return str(page.evaluate("location.href"))


def until(page: Any, expression: str, seconds: float = 60) -> Any:
    """Wait until an expression is true on the page. (Playwright's waiting needs eval, which our policy forbids.)"""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = page.evaluate(expression)
        if value:
            return value
        page.wait_for_timeout(50)
    raise TimeoutError(f"not within {seconds:g} s: {expression}")
