"""The statistic that describes what a head does differently, chosen by the rules that name clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.correlate.names import Evidence, Phrase, phrases
from headatlas.statistics import statistic

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Differences:
    """The statistics of one head before and after, and the share of texts that rise less the share that fall."""

    names: Sequence[str]
    before: Floats
    after: Floats
    signs: Floats

    def evidence(self, *, gained: bool) -> list[Evidence]:
        """After against before or, if it is not `gained` but lost, before against after."""
        means, rest, sign = (self.after, self.before, 1) if gained else (self.before, self.after, -1)
        return [
            Evidence(name, float(means[at]), float(rest[at]), float(sign * self.signs[at]), float("nan"), float("nan"))
            for at, name in enumerate(self.names)
        ]


def job(differences: Differences) -> int | None:
    """The place of the statistic that describes what a head does after and did not do before; None if nothing does."""
    return _place(differences, phrases(differences.evidence(gained=True)))


def change(differences: Differences) -> int | None:
    """The place of the statistic that changes most telling: what the head took up, or what it gave up.

    Where no phrase fits, it is the largest difference, in units of the least that matters; None if there is none.
    """
    fitting = [phrase for gained in (True, False) for phrase in phrases(differences.evidence(gained=gained))[:1]]
    place = _place(differences, sorted(fitting, key=lambda phrase: -phrase.score))
    return _largest(differences) if place is None else place


def _place(differences: Differences, fitting: Sequence[Phrase]) -> int | None:
    return list(differences.names).index(fitting[0].why.statistic) if fitting else None


def _largest(differences: Differences) -> int | None:
    declared = [statistic(name) for name in differences.names]
    least = np.array([each.least if each.high is not None else np.inf for each in declared])
    sizes = np.nan_to_num(np.abs(differences.after - differences.before) / least)
    return int(sizes.argmax()) if len(sizes) and sizes.max() > 0 else None


def taken_up(values: Floats) -> int | None:
    """The first step from which on the change from the first value stays at least half of the final one.

    >>> taken_up(np.array([0.0, 0.1, 0.6, 0.7, 0.8])), taken_up(np.array([0.0, 0.5, 0.1, 0.8]))
    (2, 3)
    >>> taken_up(np.array([0.2, 0.2])) is None
    True
    """
    change = values - values[0]
    if not np.isfinite(change).all() or change[-1] == 0:
        return None
    before = np.flatnonzero(change / change[-1] < 0.5)  # the first value is always among them
    return int(before[-1]) + 1
