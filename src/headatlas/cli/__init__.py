"""The command line. Results go to stdout, progress to stderr; each command imports the heavy parts it needs."""

import os
import sys

from headatlas.cli import collect, inspect, plot, run, stages, tsne, web
from headatlas.cli.base import app

__all__ = ["app", "collect", "inspect", "main", "plot", "run", "stages", "tsne", "web"]


def main() -> None:
    """Run the command line.

    Where Ctrl-C hit code that a library was running inside the interpreter, Python would end by the signal in place of
    our status; everything is put away by then, so the process leaves at once.
    """
    try:
        app()
    except SystemExit as end:
        if end.code == 130:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise
