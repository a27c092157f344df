"""The command line. Results go to stdout, progress to stderr; each command imports what it needs when it runs."""

import os
import sys

from headatlas.cli import (
    check,
    collect,
    compare,
    evaluate,
    finetune,
    inspect,
    null,
    plot,
    probe,
    qk,
    run,
    stages,
    tsne,
    web,
)  # fmt: skip
from headatlas.cli.base import app

__all__ = [
    "app", "check", "collect", "compare", "evaluate", "finetune", "inspect", "main", "null", "plot", "probe", "qk",
    "run", "stages", "tsne", "web",
]  # fmt: skip


def main() -> None:
    """Run the command line.

    If Ctrl+C interrupts code inside a library, Python exits by the signal instead of with status 130. All files are
    closed by then, so the process exits at once.
    """
    try:
        app()
    except SystemExit as end:
        if end.code == 130:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise
