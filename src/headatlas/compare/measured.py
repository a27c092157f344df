"""What is measured of every step, block by block: shifts of heads and layers, and statistics before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.compare.compared import Collection, Compared
from headatlas.compare.matching import Matches
from headatlas.compare.space import aligned
from headatlas.numeric.estimates import Estimates, Moments, StreamedMeans
from headatlas.stages.correlate.contrasts import combined_statistic, statistic_sources
from headatlas.wording.thresholds import GROUPS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """What all steps share: the collections, the matches of their heads, and which examples have one source."""

    compared: Compared
    matches: tuple[Matches, ...]
    same_tokens: tuple[bool, ...]
    group: NDArray[np.int64]  # (example,) from 0

    @property
    def groups(self) -> int:
        """Number of independent sources."""
        return int(self.group.max()) + 1

    @property
    def slots(self) -> int:
        """Number of heads of the first model."""
        return len(self.compared.first.heads)

    @cached_property
    def layers(self) -> NDArray[np.int64]:
        """The layers of the first model that have heads."""
        return np.unique(self.compared.first.heads[:, 0])

    @cached_property
    def statistics(self) -> dict[str, tuple[list[int], list[int]]]:
        """The common statistics, and sums of them, by the places of what is added and subtracted."""
        return statistic_sources(self.compared.statistics)

    def read_statistics(self, collection: Collection, rows: range) -> Floats:
        """Statistics (example, slot, statistic) of the heads of a model."""
        values = collection.read_heads("stats", rows)
        common = np.moveaxis(aligned(values, collection.statistics, self.compared.statistics), -1, 0)
        sources = self.statistics.values()
        return np.stack([combined_statistic(common, *source) for source in sources], -1).astype(np.float64)

    def over_layers(self, values: Floats) -> Floats:
        """Means (example, layer) of values (example, slot) over the heads of each layer that have one."""
        member = (self.compared.first.heads[:, :1] == self.layers).astype(np.float64)
        known = np.isfinite(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = np.where(known, values, 0) @ member / (known @ member)
        return means


class Parts:
    """Streamed means of several sets of places side by side, each with a shape."""

    def __init__(self, group: NDArray[np.int64], **shapes: tuple[int, ...]) -> None:
        self.shapes = shapes
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.stops = np.cumsum(sizes)
        self.streamed = StreamedMeans(group, int(self.stops[-1]))

    def add(self, **values: Floats) -> None:
        """Add the values (example, …) of the next examples, by name."""
        count = len(next(iter(values.values())))
        self.streamed.add(np.concatenate([values[name].reshape(count, -1) for name in self.shapes], 1))

    def moments(self, name: str) -> Moments:
        """The moments of one set."""
        return Moments(*(self._part(name, numbers) for numbers in self.streamed.moments()))

    def estimates(self, name: str) -> Estimates:
        """Means and intervals of one set."""
        return self.moments(name).estimates(GROUPS)

    def signs(self, name: str) -> Floats:
        """How one-sided the values of one set are, see `StreamedMeans.signs`."""
        return self._part(name, self.streamed.signs())

    def _part(self, name: str, numbers: NDArray[Any]) -> NDArray[Any]:
        place = list(self.shapes).index(name)
        stop = int(self.stops[place])
        shape = self.shapes[name]
        part: NDArray[Any] = numbers[stop - int(np.prod(shape)) : stop].reshape(shape)
        return part


class Measured:
    """Everything that is measured, filled in the order of examples; of `sampled` examples also their own shift."""

    def __init__(self, design: Design, sampled: Sequence[int] = ()) -> None:
        self.design, compared = design, design.compared
        heads, layers = (design.slots,), (len(design.layers),)
        statistics = (design.slots, len(design.statistics))
        seeds = len(compared.noise)
        self.moved = [
            Parts(design.group, shift=heads, excess=heads, layer_shift=layers, layer_excess=layers)
            for _ in compared.steps
        ]
        self.noise = Parts(design.group, mean=heads, each=(seeds, *heads), layer_mean=layers) if seeds else None
        self.statistics = [
            Parts(design.group, before=statistics, after=statistics, difference=statistics) for _ in compared.steps
        ]
        self.seed_statistics = Parts(design.group, difference=(seeds, *statistics)) if seeds else None
        self.sampled = np.array(sampled, np.int64)
        self.example_shift = np.full((len(compared.steps), len(sampled)), np.nan)  # mean over heads

    def add(self, rows: range, shift: Mapping[int, Floats]) -> None:
        """Add some examples: the shift (example, slot) of each model that has one, and the statistics of all."""
        self.add_shifts(rows, shift)
        self.add_statistics(rows)

    def add_shifts(self, rows: range, shift: Mapping[int, Floats]) -> None:
        """Add the shifts of some examples."""
        design, compared = self.design, self.design.compared
        unknown = np.full((len(rows), design.slots), np.nan)
        noise = unknown
        if self.noise is not None:
            each = np.stack([design.matches[-1].select(shift[seed.number]) for seed in compared.noise], 1)
            noise = each.mean(1)
            self.noise.add(mean=noise, each=each, layer_mean=design.over_layers(noise))
        for step, moved in zip(compared.steps, self.moved, strict=True):
            values = shift.get(step.number, unknown)
            excess = values - noise
            layers = {"layer_shift": design.over_layers(values), "layer_excess": design.over_layers(excess)}
            moved.add(shift=values, excess=excess, **layers)
            inside = (self.sampled >= rows.start) & (self.sampled < rows.stop)
            chosen = values[self.sampled[inside] - rows.start]
            with np.errstate(invalid="ignore", divide="ignore"):
                self.example_shift[step.number - 1, inside] = np.nansum(chosen, 1) / np.isfinite(chosen).sum(1)

    def add_statistics(self, rows: range) -> None:
        """Add the statistics of some examples."""
        design, compared = self.design, self.design.compared
        first = design.read_statistics(compared.first, rows)
        last = first
        for step, matches, parts in zip(compared.steps, design.matches, self.statistics, strict=True):
            last = matches.select(design.read_statistics(step, rows))
            difference = last - first
            both = np.isfinite(difference)
            before, after = (np.where(both, values, np.nan) for values in (first, last))
            parts.add(before=before, after=after, difference=difference)
        if self.seed_statistics is not None:
            seeds = [design.matches[-1].select(design.read_statistics(seed, rows)) for seed in compared.noise]
            self.seed_statistics.add(difference=np.stack([values - last for values in seeds], 1))
