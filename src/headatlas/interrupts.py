"""Ctrl-C that is not lost: an interrupt that a library swallows is raised again at the next step of a progress bar."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False


@contextmanager
def remembered() -> Iterator[None]:
    """Remember interrupts in the main thread, unless the process handles or ignores them itself."""
    global _asked
    _asked = False
    if not _main() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    report = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else report(lost)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        sys.unraisablehook = report
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check() -> None:
    """Stop if an interrupt was asked for and lost: Python drops one that arrives in a `__del__` or a callback."""
    global _asked
    if _asked and _main():
        _asked = False
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    raise KeyboardInterrupt


def _main() -> bool:
    return threading.current_thread() is threading.main_thread()
