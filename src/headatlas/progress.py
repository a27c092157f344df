"""Progress bars and messages on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def many(count: int, what: str) -> str:
    """A count with its noun.

    >>> many(1, "text"), many(1204, "text")
    ('1 text', '1,204 texts')
    """
    return f"{count:,} {what}" + "s" * (count != 1)


def percent(share: float) -> str:
    """A share as a percentage, never rounded to 0 % or 100 %.

    >>> percent(0.934), percent(0.9996), percent(0.00021)
    ('93 %', '> 99 %', '< 1 %')
    """
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def say(line: str) -> None:
    """Print one line to stderr."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)


@contextmanager
def bar(title: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar with rate and time left; call the yielded function with the number of units just done."""
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
        yield lambda steps: progress.advance(task, steps)
