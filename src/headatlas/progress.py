"""What a person sees while waiting: a bar and a few lines, all on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def many(count: int, what: str) -> str:
    """A number of things.

    >>> many(1, "text"), many(1204, "text")
    ('1 text', '1,204 texts')
    """
    return f"{count:,} {what}" + "s" * (count != 1)


def percent(share: float) -> str:
    """A share to read: never 100 % or 0 % unless it is.

    >>> percent(0.934), percent(0.9996), percent(0.00021)
    ('93 %', '> 99 %', '< 1 %')
    """
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def say(line: str) -> None:
    """One line on stderr."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)


@contextmanager
def bar(title: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar with rate and time left; call what it gives with the number of units done since the last call."""
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
