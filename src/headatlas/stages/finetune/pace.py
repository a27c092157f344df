"""How far training is, and the learning rate that follows from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Pace:
    """Limits of training: steps, items to read, seconds. The first that is reached ends it; None: no limit."""

    steps: int | None
    items: int | None
    seconds: float | None
    warmup: float
    spent: float = 0.0  # seconds before this process
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, those before an interruption included."""
        return self.spent + time.monotonic() - self.started

    def share(self, steps: float, items: float) -> float:
        """How much of the training is done, from 0 to 1.

        >>> Pace(100, 4000, None, 0.1).share(20, 1000)
        0.25
        """
        limits = ((steps, self.steps), (items, self.items), (self.elapsed, self.seconds))
        return min(1.0, max((done / limit for done, limit in limits if limit), default=0.0))

    def factor(self, share: float) -> float:
        """The learning rate as a share of its peak: linear warm-up, then linear decay to 0.

        >>> pace = Pace(100, None, None, warmup=0.1)
        >>> [round(pace.factor(share), 2) for share in (0, 0.05, 0.1, 0.55, 1)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
        """
        if share < self.warmup:
            return share / self.warmup
        return (1 - share) / (1 - self.warmup) if self.warmup < 1 else 1.0
