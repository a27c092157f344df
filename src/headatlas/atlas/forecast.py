"""How long a run takes and how large its result becomes, estimated from its first blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from headatlas import progress
from headatlas.wording.numbers import duration, file_size, many

LONG = 60.0  # seconds: a shorter run is not announced


@dataclass
class Forecast:
    """Counts finished blocks; after the second round of blocks it says once what is to be expected.

    The first round is not typical: it compiles and loads. `at_once` blocks run side by side.
    """

    title: str
    unit: str
    total: int  # units of all pending blocks
    at_once: int
    size: Callable[[], float]  # bytes per unit on disk, so far
    clock: Callable[[], float] = time.monotonic
    _seen: list[tuple[float, int]] = field(default_factory=list)  # when a block ended, and units done by then

    def __post_init__(self) -> None:
        self._seen.append((self.clock(), 0))

    def advance(self, units: int) -> None:
        """A block of so many units is done."""
        self._seen.append((self.clock(), self._seen[-1][1] + units))
        if len(self._seen) == 1 + 2 * self.at_once and self._seen[-1][1] < self.total:
            seconds = self.seconds()
            if seconds >= LONG:
                progress.say(self.line(seconds))

    def seconds(self) -> float:
        """The expected duration of the whole run."""
        start, (warm, first), (now, done) = self._seen[0][0], self._seen[self.at_once], self._seen[-1]
        return warm - start + (self.total - first) * (now - warm) / max(1, done - first)

    def line(self, seconds: float) -> str:
        """What is to be expected, in one line."""
        units = many(self.total, self.unit.removesuffix("s"))
        size = file_size(self.size() * self.total)
        return f"{self.title} {units} will take about {duration(seconds)} and {size} on disk"
