"""Progress bars and messages: on stderr, or below the cell of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from headatlas import interrupts, notebook
from headatlas.errors import one_line


class Advance(Protocol):
    """Called with the number of units just done, and with their total where that was not known before."""

    def __call__(self, steps: int, total: int | None = None) -> None:
        """Show it."""


def say(line: str) -> None:
    """Print one line to stderr; in a notebook, where stderr looks like an error, to stdout."""
    if notebook.shell() is not None:
        sys.stdout.write(f"{one_line(line)}\n")
        return
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(one_line(line), markup=False)


@contextmanager
def bar(title: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Show a progress bar with rate and time left; call the yielded function with the number of units just done."""
    if notebook.shell() is not None:
        with notebook.bar(title, total, unit) as advance:
            yield advance
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.1f} {unit}/s" if speed else f"– {unit}/s", style="progress.data.speed")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)

        def advance(steps: int, total: int | None = None) -> None:
            progress.update(task, advance=steps, total=total)  # None leaves it as it is
            interrupts.check()

        interrupts.check()
        yield advance
