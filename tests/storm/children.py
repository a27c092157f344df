"""Commands in children of this process, which has imported everything: a command costs a fork, not seconds of imports.

A child can die at its n-th file operation, as by `kill -9`: files opened for writing, renamed, linked, cut or deleted,
and folders made or deleted. The operations are those that Python's audit hooks see before they happen.
"""

import mmap
import os
import re
import signal
import struct
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass

from typer.main import get_command

from headatlas.cli import app
from support.commands import notes

BROKEN = 70  # exit status of a child that ends with a traceback
HANGS = 120  # seconds after which a command is said to hang
PATHS = {"os.rename": 0, "os.link": 0, "os.remove": 0, "os.rmdir": 0, "os.mkdir": 0, "os.truncate": 0}
COMMANDS = get_command(app)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    arguments: tuple
    status: int  # negative: the signal
    out: str
    err: str

    @property
    def has_traceback(self):
        """Whether it ended with an error that no user should see."""
        return self.status not in (0, 1, -signal.SIGKILL) or "Traceback (most" in self.err

    @property
    def line(self):
        """The one clear line with which a command refused; None if there is no such line."""
        lines = [line for line in notes(self.err) if line.startswith("headatlas: ")]
        clear = self.status == 1 and len(lines) == 1 and lines[0].isprintable()
        return lines[0] if clear else None

    def __str__(self):
        return f"{' '.join(map(str, self.arguments))} ended with {self.status}: {self.err[-3000:]}"


class Child:
    """A function that runs in a child."""

    def __init__(self, function, arguments, folder, hangs=HANGS):
        self.arguments = tuple(arguments)
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - `wait` closes them
        self.until = time.monotonic() + hangs
        self.pid = os.fork()
        if self.pid == 0:
            self._run(function, folder)

    def _run(self, function, folder):
        status = BROKEN
        try:
            os.chdir(folder)
            os.dup2(self.out.fileno(), 1)
            os.dup2(self.err.fileno(), 2)
            sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
            status = function(*self.arguments) or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def wait(self):
        """How it ended; it is killed if it hangs."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > self.until:
                os.kill(self.pid, signal.SIGABRT)
            time.sleep(0.002)
        return Ended(self.arguments, os.waitstatus_to_exitcode(status), _text(self.out), _text(self.err))


def _text(file):
    with file:
        file.seek(0)
        return file.read().decode(errors="replace")


def command(*arguments):
    """A command of headatlas; returns its exit status."""
    try:
        COMMANDS([str(argument) for argument in arguments])
    except SystemExit as end:
        return end.code or 0
    return BROKEN


def run(arguments, folder):
    """A command in a child, to its end."""
    return Child(command, arguments, folder).wait()


class Operations:
    """Counts the file operations of a child below its folder; the child dies before number `limit`.

    With `half`, it dies in the middle of the operation: a file that is renamed or linked is only half written.
    """

    def __init__(self, limit=-1, half=False):
        self.limit, self.half, self._shared = limit, half, mmap.mmap(-1, 8)
        self._folder = None

    @property
    def count(self):
        """Operations so far; can be read in the parent."""
        return struct.unpack("q", self._shared[:8])[0]

    def __call__(self, *arguments):
        """A command with its operations counted."""
        self._folder = os.getcwd()  # noqa: PTH109 - compared with strings
        sys.addaudithook(self._hear)
        return command(*arguments)

    def _hear(self, event, values):
        if event == "open":
            counted = isinstance(values[0], str) and values[2] & WRITES and self._is_inside(values[0])
        else:
            counted = event in PATHS and (not isinstance(values[0], str) or self._is_inside(values[0], values))
        if counted:
            if self.count == self.limit:
                self._die(event, values)
            self._shared[:8] = struct.pack("q", self.count + 1)

    def _is_inside(self, path, values=()):
        return (
            path.startswith(self._folder)
            or not path.startswith("/")
            or (len(values) > 1 and values[-1] not in (-1, None))
        )

    def _die(self, event, values):
        if self.half and event in ("os.rename", "os.link") and re.search(r"\.partial$", os.fspath(values[0])):
            self.limit = -1
            os.truncate(values[0], os.stat(values[0]).st_size // 2)  # noqa: PTH116
        if self.half and event == "os.truncate":
            self.limit = -1
            os.truncate(*values)
        os.kill(os.getpid(), signal.SIGKILL)
