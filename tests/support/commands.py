"""The command line in this process: what a command prints, how it ends, and what it leaves on disk."""

import contextlib
import hashlib
import io
import re
from pathlib import Path

import pytest

from headatlas.cli import app

BAR = re.compile(r"\d+/(\d+|\?) .*/s")


def call(*arguments):
    """Exit status, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        app([str(argument) for argument in arguments])
    return end.value.code or 0, out.getvalue(), err.getvalue()


def done(*arguments):
    """The stdout of a command that succeeds."""
    code, out, err = call(*arguments)
    assert code == 0, err
    return out


def notes(err):
    """Lines of stderr that are not progress bars."""
    return [line for line in err.splitlines() if line.strip() and not BAR.search(line)]


def bits(folder):
    """Every file of an atlas by its digest."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
