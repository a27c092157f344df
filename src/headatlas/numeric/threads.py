"""Computing on one core: sums have a fixed order, so that results do not depend on the number of cores."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def single_thread(*libraries: str) -> Iterator[None]:
    """Use one core for everything that NumPy, SciPy, scikit-learn and torch compute inside. Also works as a decorator.

    OpenMP has one limit per thread, so every thread of a pool has to enter, too. BLAS and torch have one limit per
    process: it is lifted by the last thread that leaves, so that threads that still compute keep it. Only loaded
    libraries can be limited: `libraries` are imported first.

    >>> from threadpoolctl import threadpool_info
    >>> with single_thread("numpy.linalg"):
    ...     {library["num_threads"] for library in threadpool_info()}
    {1}
    """
    from threadpoolctl import ThreadpoolController

    for library in libraries:
        import_module(library)
    torch = sys.modules.get("torch")
    torch_threads = torch.get_num_threads() if torch else None  # torch reads OpenMP's limit: ask before it is set
    loaded = ThreadpoolController()
    openmp, blas = (loaded.select(user_api=api) for api in ("openmp", "blas"))
    with openmp.limit(limits=1), _process.limited(blas.lib_controllers, torch_threads):
        yield


class _ProcessLimits:
    """The limits of BLAS and torch, and how many threads rely on them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.blas: list[tuple[Any, int]] = []  # libraries that were limited, and their threads before
        self.torch_threads: int | None = None

    @contextmanager
    def limited(self, blas: list[Any], torch_threads: int | None) -> Iterator[None]:
        """Set the limits; lift them if no other thread is inside at the end."""
        with self.lock:
            self.inside += 1
            for library in blas:
                if library.num_threads != 1:
                    self.blas.append((library, library.num_threads))
                    _set_threads(library, 1)
            if torch_threads is not None:
                self.torch_threads = self.torch_threads or torch_threads
                sys.modules["torch"].set_num_threads(1)
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1
                if not self.inside:
                    self._lift()

    def _lift(self) -> None:
        while self.blas:
            _set_threads(*self.blas.pop())
        if self.torch_threads is not None:
            sys.modules["torch"].set_num_threads(self.torch_threads)
            self.torch_threads = None


def _set_threads(library: Any, count: int) -> None:
    """Set the threads of a BLAS library, from whichever thread this is called.

    threadpoolctl 3.7 and later ignores all threads but the first that set a limit, until that thread releases it.
    """
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(count)
    release(force=True)


_process = _ProcessLimits()
