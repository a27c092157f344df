"""Progress in a notebook: one line per cell, updated in place, without widgets and without output on stderr."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OFTEN = 0.2  # seconds between two updates
STYLE = "font:13px system-ui,sans-serif;font-variant-numeric:tabular-nums"

_lines: dict[str, tuple[object, Any]] = {}  # the latest cell and the handle of its line


def shell() -> Any | None:
    """The shell of a notebook's kernel; None in a terminal and in a script."""
    module = sys.modules.get("IPython")
    active = module.get_ipython() if module is not None else None
    return active if hasattr(active, "kernel") else None


@contextmanager
def bar(title: str, total: int | None, unit: str) -> Iterator[Callable[..., None]]:
    """Show progress on the line of the cell; call the yielded function with the number of units just done."""
    start, done, shown, known = time.monotonic(), 0, 0.0, total

    def advance(steps: int, total: int | None = None) -> None:
        nonlocal done, shown, known
        done += steps
        known = known if total is None else total
        if time.monotonic() - shown > OFTEN:
            shown = time.monotonic()
            _show(f"{title}: {_count(done, known)} {unit}", done, known)

    advance(0)
    yield advance
    _show(f"{title}: {_count(done, None)} {unit} in {time.monotonic() - start:.1f} s", 1, 1)


def _count(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def _show(text: str, done: int, total: int | None) -> None:
    """Write the line of the cell that runs now, or replace it."""
    from IPython.display import display

    value = "" if total is None else f" value={done} max={max(1, total)}"
    line = f"<div style='{STYLE}'><progress{value} style='width:120px'></progress> {html.escape(text)}</div>"
    data = {"text/plain": text, "text/html": line}
    cell = getattr(shell(), "execution_count", None)
    latest, handle = _lines.get("cell", (None, None))
    if handle is None or latest != cell:
        _lines["cell"] = cell, display(data, raw=True, display_id=True)
    else:
        handle.update(data, raw=True)
