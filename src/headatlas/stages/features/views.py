"""Views of heads for training: maps of different examples, augmented in ways that preserve the head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.stages.features.network import SIDE
from headatlas.stages.features.patterns import patterns

Maps = NDArray[np.float16]  # (example, head, query, key)

BANK = 4400  # generated maps
GENERATED = 0.06  # share of a batch that is generated


@dataclass(frozen=True)
class Changes:
    """How often and how much maps are augmented."""

    mixed: float = 0.3  # share of heads mixed with another head of their model, which makes new heads
    causal: float = 0.2  # share of heads made causal
    sink: float = 0.2  # share of heads that give up to 0.9 of their attention to the first key
    cropped: float = 0.1  # share of views cut to a range of tokens
    coarse: float = 0.1  # share of views pooled to a lower resolution and back
    shortest: float = 0.6  # shortest range, as a share of the tokens
    noise: float = 0.05  # standard deviation of the logarithm of the factor on each weight


class HeadViews:
    """Draws batches: each row is a head, each view another example of it."""

    def __init__(self, sources: Sequence[Maps], seed: int, changes: Changes) -> None:
        self.sources = [torch.from_numpy(maps) for maps in sources]
        self.heads = np.array([(s, h) for s, maps in enumerate(sources) for h in range(maps.shape[1])])
        self.rng = np.random.default_rng(seed)
        self.changes = changes
        generated, labels, names = patterns(BANK, seed, SIDE)
        self.bank = torch.from_numpy(generated)
        self.kinds = [np.flatnonzero(labels == kind) for kind in range(len(names))]

    def draw(self, batch: int, views: int = 2) -> list[Tensor]:
        """One array of maps (batch, 32, 32) per view. No head is repeated before all have been drawn."""
        generated = round(GENERATED * batch)
        count = batch - generated
        rounds = -(-count // len(self.heads))
        order = np.concatenate([self.rng.permutation(len(self.heads)) for _ in range(rounds)])[:count]
        chosen = self.heads[order]
        parts = self._partners(chosen[:, 0])
        masks = masking(self.rng, count, self.changes.causal, self.changes.sink)
        kinds = self.rng.integers(0, len(self.kinds), generated)
        result = []
        for _ in range(views):
            real = masked(self._examples(chosen, *parts), *masks)
            synthetic = self.bank[[self.rng.choice(self.kinds[kind]) for kind in kinds]]
            result.append(self._change(torch.cat([real, synthetic])))
        return result

    def _partners(self, sources: NDArray[np.int64]) -> tuple[NDArray[np.int64], Tensor]:
        """Another head of the same model for each head, and its mixing weight, often 0."""
        sizes = np.array([maps.shape[1] for maps in self.sources])[sources]
        weights = self.rng.uniform(0, 0.6, len(sources)) * (self.rng.random(len(sources)) < self.changes.mixed)
        return self.rng.integers(0, sizes), torch.from_numpy(weights).float()[:, None, None]

    def _examples(self, chosen: NDArray[np.int64], partners: NDArray[np.int64], weights: Tensor) -> Tensor:
        """A map of each chosen head on a random example, mixed with the map of its partner on the same example."""
        maps = torch.empty(len(chosen), SIDE, SIDE)
        for number, source in enumerate(self.sources):
            rows = np.flatnonzero(chosen[:, 0] == number)
            examples = self.rng.integers(0, len(source), len(rows))
            chosen_maps, partner_maps = (
                source[examples, chosen[rows, 1]].float(),
                source[examples, partners[rows]].float(),
            )
            maps[rows] = chosen_maps + weights[rows] * (partner_maps - chosen_maps)
        return maps

    def _change(self, maps: Tensor) -> Tensor:
        changes, count = self.changes, len(maps)
        cut = np.flatnonzero(self.rng.random(count) < changes.cropped)
        sizes = self.rng.uniform(changes.shortest, 1, len(cut))
        starts = self.rng.uniform(0, 1, len(cut)) * (1 - sizes)
        maps[cut] = crop(maps[cut], torch.from_numpy(starts).float(), torch.from_numpy(sizes).float())
        coarse = np.flatnonzero(self.rng.random(count) < changes.coarse)
        maps[coarse] = coarser(maps[coarse], int(self.rng.integers(SIDE // 2, SIDE)))
        noise = torch.from_numpy(self.rng.standard_normal(maps.shape, np.float32))
        return maps * torch.exp(changes.noise * noise)


def masking(rng: np.random.Generator, count: int, causal: float, sink: float) -> tuple[Tensor, Tensor]:
    """Which maps become causal, and how much of its attention each map gives to the first key; the shares are given."""
    is_causal = torch.from_numpy(rng.random(count) < causal)
    return is_causal, torch.from_numpy(rng.uniform(0, 0.9, count) * (rng.random(count) < sink)).float()


def masked(maps: Tensor, is_causal: Tensor, sink: Tensor) -> Tensor:
    """Maps made causal and with a sink where `masking` says so."""
    maps = torch.where(is_causal[:, None, None], causal(maps), maps) * (1 - sink[:, None, None])
    maps[:, :, 0] += sink[:, None]
    return maps


def causal(maps: Tensor) -> Tensor:
    """Maps without attention to later tokens; rows sum to 1 again."""
    return rows_to_one(torch.tril(maps) + 1e-6 * torch.tril(torch.ones(SIDE, SIDE)))


def rows_to_one(maps: Tensor) -> Tensor:
    """Maps whose rows sum to 1."""
    return maps / (maps.sum(-1, keepdim=True) + 1e-6)


def crop(maps: Tensor, starts: Tensor, sizes: Tensor) -> Tensor:
    """Crop each map to its range of the unit interval, the same for queries and keys; rows sum to 1 again."""
    shares = _shares(starts, sizes, SIDE)
    return rows_to_one(shares / shares.sum(-1, keepdim=True) @ maps @ shares.mT)


def coarser(maps: Tensor, side: int) -> Tensor:
    """Pool maps to a smaller side, and resize them back."""
    bin_shares = _shares(torch.zeros(1), torch.ones(1), side)[0]  # share of each of the 32 bins in each larger bin
    back = bin_shares / bin_shares.sum(1, keepdim=True)
    return bin_shares.T @ (back @ maps @ bin_shares.T) @ back


def _shares(starts: Tensor, sizes: Tensor, side: int) -> Tensor:
    """Share of each of the 32 bins in each of `side` equal parts of a range: (range, part, bin)."""
    edges = SIDE * (starts[:, None] + sizes[:, None] * torch.arange(side + 1) / side)
    bins = torch.arange(SIDE)
    low, high = torch.maximum(edges[:, :-1, None], bins), torch.minimum(edges[:, 1:, None], bins + 1)
    return (high - low).clamp(min=0)
