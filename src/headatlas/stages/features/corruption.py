"""Maps and a corrupted view of each: partly hidden, blurred or noisy. Which head a map is from is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headatlas.stages.features.network import SIDE
from headatlas.stages.features.patterns import patterns
from headatlas.stages.features.views import BANK, Maps, coarser, crop, masked, masking

PATCH = 4  # side of a hidden patch


@dataclass(frozen=True)
class Corruption:
    """How often and how much maps are changed: the first six make new maps, the others corrupt the view of a map."""

    generated: float = 0.12  # share of maps that are generated
    mixed: float = 0.3  # share of maps mixed with another map
    causal: float = 0.35  # share of maps made causal
    sink: float = 0.2  # share of maps that give up to 0.9 of their attention to the first key
    cropped: float = 0.1  # share of maps cut to a range of tokens
    shortest: float = 0.5  # shortest range, as a share of the tokens
    untouched: float = 0.25  # share of views that are not corrupted
    noise: float = 0.3  # largest standard deviation of the logarithm of the factor on each weight
    coarse: float = 0.15  # share of views pooled to a lower resolution and back, as in a text of another length
    smooth: float = 0.1  # share of views with weights averaged over neighboring bins
    patches: float = 0.15  # largest share of hidden patches
    rows: float = 0.1  # largest share of hidden queries


class MapViews:
    """Draws batches of maps, each with a corrupted view of the same map."""

    def __init__(self, sources: Sequence[Maps], seed: int, corruption: Corruption) -> None:
        self.sources = [torch.from_numpy(maps).flatten(0, 1) for maps in sources]  # (map, query, key)
        self.rng = np.random.default_rng(seed)
        self.corruption = corruption
        self.bank = torch.from_numpy(patterns(BANK, seed, SIDE)[0])

    def draw(self, batch: int) -> tuple[Tensor, Tensor]:
        """Corrupted views and the maps they are views of, each (batch, 32, 32)."""
        maps = self._maps(batch)
        return self.corrupt(maps), maps

    def _maps(self, batch: int) -> Tensor:
        """Maps of all sources and generated ones; some are mixed, cut, made causal or given a sink."""
        corruption, rng = self.corruption, self.rng
        generated = round(corruption.generated * batch)
        maps, others = (self._some(self.sources, batch - generated) for _ in range(2))
        weights = rng.uniform(0, 0.6, len(maps)) * (rng.random(len(maps)) < corruption.mixed)
        maps = torch.lerp(maps, others, torch.from_numpy(weights).float()[:, None, None])
        cut = np.flatnonzero(rng.random(len(maps)) < corruption.cropped)
        sizes = rng.uniform(corruption.shortest, 1, len(cut))
        starts = rng.uniform(0, 1, len(cut)) * (1 - sizes)
        maps[cut] = crop(maps[cut], torch.from_numpy(starts).float(), torch.from_numpy(sizes).float())
        maps = masked(maps, *masking(rng, len(maps), corruption.causal, corruption.sink))
        return torch.cat([maps, self._some([self.bank], generated)])

    def _some(self, sources: Sequence[Tensor], count: int) -> Tensor:
        """Random maps, each as likely as any other."""
        ends = np.cumsum([len(maps) for maps in sources])
        chosen = self.rng.integers(0, ends[-1], count)
        source = np.searchsorted(ends, chosen, side="right")
        result = torch.empty(count, SIDE, SIDE)
        for number, maps in enumerate(sources):
            rows = np.flatnonzero(source == number)
            result[rows] = maps[chosen[rows] - ends[number]].float()  # negative: counted from the end
        return result

    def corrupt(self, maps: Tensor) -> Tensor:
        """A corrupted view of each map; some are as they were."""
        corruption, rng, count = self.corruption, self.rng, len(maps)
        views = maps.clone()
        coarse = np.flatnonzero(rng.random(count) < corruption.coarse)
        views[coarse] = coarser(views[coarse], int(rng.integers(SIDE // 2, SIDE)))
        smooth = np.flatnonzero(rng.random(count) < corruption.smooth)
        views[smooth] = smoother(views[smooth])
        deviations = torch.from_numpy(rng.uniform(0, corruption.noise, count)).float()[:, None, None]
        views *= torch.exp(deviations * torch.from_numpy(rng.standard_normal(views.shape, np.float32)))
        hidden = self._hidden(count, corruption.patches, (SIDE // PATCH, SIDE // PATCH))
        views *= ~hidden.repeat_interleave(PATCH, 1).repeat_interleave(PATCH, 2)
        views *= ~self._hidden(count, corruption.rows, (SIDE, 1))
        untouched = torch.from_numpy(rng.random(count) < corruption.untouched)
        return torch.where(untouched[:, None, None], maps, views)

    def _hidden(self, count: int, most: float, shape: tuple[int, int]) -> Tensor:
        """Which parts of each map are hidden: a random share of them, up to `most`."""
        shares = self.rng.uniform(0, most, (count, 1, 1))
        return torch.from_numpy(self.rng.random((count, *shape)) < shares)


def smoother(maps: Tensor) -> Tensor:
    """Maps averaged over neighboring bins, a quarter from either side; rows still sum to 1.

    >>> smoother(torch.eye(32)[None])[0, 4, 2:7].tolist()
    [0.0625, 0.25, 0.375, 0.25, 0.0625]
    """
    near = torch.eye(SIDE) / 2 + (torch.eye(SIDE).roll(1, 0) + torch.eye(SIDE).roll(-1, 0)) / 4
    near[0, -1] = near[-1, 0] = 0
    near[0, 0] = near[-1, -1] = 0.75
    return near @ maps @ near
