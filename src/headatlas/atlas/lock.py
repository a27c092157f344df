"""Locks for writers. Readers never take one.

A lock is a file in `locks/` that says who holds it and since when. On a local disk the operating system holds the lock
itself (`flock`), so a process that dies loses it at once and the next one takes over. Elsewhere (an object store, a
system without `flock`) the existence of the file is the lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from headatlas.atlas.files import Files
from headatlas.errors import BusyError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER = "locks"
POLL = 0.01  # seconds between two attempts

Holder = dict[str, Any]


class Lock(Protocol):
    """A lock that one writer holds at a time."""

    def take(self) -> Holder | None:
        """Take the lock, or return its holder. A previous holder that died is in `previous` afterwards."""

    def release(self) -> None:
        """Release the lock."""

    previous: Holder | None


@contextmanager
def hold(files: Files, name: str, *, wait: float = 0.0, folder: str = FOLDER) -> Iterator[Holder | None]:
    """Hold a lock while the block runs.

    Parameters
    ----------
    files
        The folder of the atlas.
    name
        What is locked: `atlas`, or `STAGE.RESULT`.
    wait
        Seconds to wait for another holder before `BusyError` is raised.
    folder
        Where the file of the lock is: empty for the folder itself, if that is not an atlas.

    Yields
    ------
    The holder that died while it held the lock, or None.
    """
    lock = _lock(files, name, folder)
    deadline = time.monotonic() + wait
    while (holder := _take(files, lock)) is not None:
        if time.monotonic() >= deadline:
            raise BusyError(f"{files.url}: {_describe(holder)}", holder)
        time.sleep(POLL)
    try:
        yield lock.previous
    finally:
        lock.release()


def _take(files: Files, lock: Lock) -> Holder | None:
    with files.guard(FOLDER):
        return lock.take()


def clear_dead(files: Files) -> None:
    """Delete the lock files left by dead processes, and their folder."""
    for name in files.names(FOLDER):
        lock = _lock(files, name.removesuffix(".lock"))
        if _take(files, lock) is None:
            lock.release()
    if files.local:
        with contextlib.suppress(OSError):  # there is none, or other locks are in use
            Path(files.path(FOLDER)).rmdir()


def _lock(files: Files, name: str, folder: str = FOLDER) -> Lock:
    path = f"{folder}/{name}.lock".lstrip("/")
    if files.local and fcntl is not None:
        return _SystemLock(Path(files.path(path)))
    if "memory" in files.system.protocol:
        return _MemoryLock(f"{files.url}/{path}")
    return _ExistenceLock(files, path)


def _me() -> Holder:
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": now, "command": " ".join(sys.argv)[:200]}


def _describe(holder: Holder) -> str:
    pid, host, since = (holder.get(name, "unknown") for name in ("pid", "host", "since"))
    return f"process {pid} on {host} has been writing since {since} ({holder.get('command', 'unknown command')})"


def _parse(content: bytes) -> Holder | None:
    """The holder that a lock file names; None for an empty or broken one."""
    try:
        holder = json.loads(content)
    except ValueError:
        return None
    return holder if isinstance(holder, dict) else None


class _SystemLock:
    """A lock of the operating system on a file; released by the system when its process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.previous: Holder | None = None
        self._descriptor = -1

    def take(self) -> Holder | None:
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _parse(os.pread(descriptor, 4096, 0))
                os.close(descriptor)
                return holder or {}
            if self._is_current(descriptor):
                break
            os.close(descriptor)  # its holder removed the file between our open and our lock
        self.previous = _parse(os.pread(descriptor, 4096, 0))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(_me()).encode(), 0)
        self._descriptor = descriptor
        return None

    def _open(self) -> int:
        while True:
            with contextlib.suppress(FileExistsError):  # another process was faster
                self.path.parent.mkdir(parents=True)
            with contextlib.suppress(FileNotFoundError):  # the last holder removed the empty folder
                return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        with contextlib.suppress(OSError):  # other locks are in use
            self.path.parent.rmdir()


class _MemoryLock:
    """A lock for an atlas in the memory of this process."""

    _holders: dict[str, Holder] = {}  # noqa: RUF012 - shared by all handles on purpose
    _guard = threading.Lock()

    def __init__(self, url: str) -> None:
        self.url = url
        self.previous: Holder | None = None

    def take(self) -> Holder | None:
        with self._guard:
            holder = self._holders.get(self.url)
            if holder is None:
                self._holders[self.url] = _me()
            return holder

    def release(self) -> None:
        with self._guard:
            self._holders.pop(self.url, None)


class _ExistenceLock:
    """A lock by the existence of a file. A holder on this machine that has died is taken over; one on another machine
    cannot be checked, so the error names the file to delete."""

    def __init__(self, files: Files, path: str) -> None:
        self.files, self.path = files, path
        self.previous: Holder | None = None

    def take(self) -> Holder | None:
        if self.files.exists(self.path):
            holder = _parse(self.files.read(self.path)) or {}
            if holder.get("host") != socket.gethostname() or _is_alive(int(holder.get("pid", 0))):
                return holder | {"command": f"{holder.get('command')}; if it has died, delete {self.path}"}
            self.previous = holder
        self.files.write(self.path, json.dumps(_me()).encode())
        return None

    def release(self) -> None:
        self.files.remove(self.path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
