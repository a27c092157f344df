"""Run a function over tasks: in threads, in local processes, or on a Dask cluster.

The function writes the result of its task itself; a lost task can be run again. Every task computes on one core, so
the result does not depend on where it ran. This is the only file that imports dask.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from headatlas.errors import OptionError, WorkerError

Task = TypeVar("Task")
Result = TypeVar("Result")

_stopping = threading.Event()


class Stopped(Exception):
    """A task was canceled because the whole run is ending."""


def check() -> None:
    """Raise `Stopped` if the run is ending; long tasks call it regularly."""
    if _stopping.is_set():
        raise Stopped


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    threads: int | None = None,
    workers: int = 0,
    scheduler: str | None = None,
) -> Generator[Result, None, None]:
    """Yield results as they complete, in any order.

    Parameters
    ----------
    function : callable
        Called with one task.
    tasks : sequence
        The tasks.
    threads : int, optional
        Threads of this process, used if `workers` is 0; by default one per core.
    workers : int
        Number of processes; 0 uses threads.
    scheduler : str, optional
        Address of a Dask scheduler that runs the tasks instead.
    """
    if workers < 0:
        raise OptionError(f"--workers {workers}: the number of processes cannot be negative")
    if scheduler is not None:
        yield from _dask(function, tasks, scheduler)
        return
    _stopping.clear()
    executor: Executor
    if workers:
        from multiprocessing import get_context

        executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupt)
    else:
        executor = ThreadPoolExecutor(threads or cores())
    with _ending(executor):
        yield from _drain([executor.submit(function, task) for task in tasks])


def _drain(futures: list[Future[Result]]) -> Iterator[Result]:
    try:
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died, possibly out of memory. What is written is kept: "
            "run the same command again, possibly with fewer --workers"
        ) from error


@contextmanager
def _ending(executor: Executor) -> Iterator[None]:
    """On any error or Ctrl+C, cancel tasks that have not started and stop those that have."""
    try:
        yield
    except BaseException:
        _stopping.set()
        if isinstance(executor, ProcessPoolExecutor):
            import multiprocessing

            for child in multiprocessing.active_children():
                child.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupt() -> None:
    """Ignore Ctrl+C in workers: it reaches every process of a terminal, and the main one handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _dask(function: Callable[[Task], Result], tasks: Sequence[Task], address: str) -> Iterator[Result]:
    try:
        import distributed
    except ImportError:
        raise OptionError("--scheduler needs dask: pip install 'headatlas[dask]'") from None
    try:
        distributed.comm.get_address_host(address)  # a client with an invalid address hangs at exit
        client: Any = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkerError(
            f"no Dask scheduler answers at {address}. Start one with: dask scheduler ({error})"
        ) from error
    with client:
        futures = client.map(function, tasks, pure=False, retries=3)
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield future.result()
        except distributed.scheduler.KilledWorker as error:
            raise WorkerError(f"a task killed its worker repeatedly, possibly out of memory: {error}") from error
        except BaseException:
            client.cancel(futures, force=True)
            raise
