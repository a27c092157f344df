"""Jobs that need the model: one runs at a time, equal requests share it, and it is canceled when nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.base import Payload


@dataclass(eq=False)
class Job:
    """Something to compute, how many requests wait for it, and how many of its steps are done (of 0: not known yet)."""

    key: Hashable = None
    future: Future[Any] = field(default_factory=Future)
    canceled: threading.Event = field(default_factory=threading.Event)
    waiting: int = 0
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Pending:
    """A response that a job will compute: `take` gives the response from the result of the job."""

    job: Job
    take: Callable[[Any], Payload | bytes]

    def wait(self) -> Payload | bytes:
        """The response, as soon as the job has finished."""
        return self.take(self.job.future.result())


class JobQueue:
    """Runs jobs one after another in a thread."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "headatlas-model")  # one forward pass at a time
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job] = {}

    def submit(self, key: Hashable, work: Callable[[Job], Any]) -> Job:
        """Queue some work; requests for the same key share the job while it is not finished."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.canceled.is_set():
                job = self._jobs[key] = Job(key)
                self._worker.submit(self._run, job, work)
            job.waiting += 1
            return job

    def start(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Queue some work that nobody waits for."""
        self._worker.submit(work, *arguments)

    def leave(self, job: Job) -> None:
        """Wait no longer; a job that nobody waits for is canceled."""
        with self._lock:
            job.waiting -= 1
            if job.waiting == 0:
                job.canceled.set()

    def find(self, key: Hashable) -> Job | None:
        """The unfinished job for a key."""
        with self._lock:
            return self._jobs.get(key)

    def unfinished(self) -> list[Job]:
        """All jobs that are queued or running."""
        with self._lock:
            return list(self._jobs.values())

    def _run(self, job: Job, work: Callable[[Job], Any]) -> None:
        try:
            if job.canceled.is_set():
                raise RequestError(503, "Canceled: no client waits for this any more.")
            job.future.set_result(work(job))
        except BaseException as error:
            job.future.set_exception(error)
        finally:
            with self._lock:
                if self._jobs.get(job.key) is job:
                    del self._jobs[job.key]

    def close(self) -> None:
        """Cancel everything."""
        for job in self.unfinished():
            job.canceled.set()
        self._worker.shutdown(wait=False, cancel_futures=True)
