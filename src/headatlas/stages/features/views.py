"""Views of heads to train on: maps of different examples, changed in ways that leave a head what it is."""

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
    """How often, and how much, maps are changed."""

    mixed: float = 0.3  # share of heads mixed with another head of their model: more heads than there are
    causal: float = 0.2  # share of heads whose queries are kept from later keys
    sink: float = 0.2  # share of heads of which up to 0.9 goes to the first key
    cropped: float = 0.1  # share of views cut to a range of tokens
    coarse: float = 0.1  # share of views brought to a lower resolution and back
    shortest: float = 0.6  # least length of a range, as a share
    noise: float = 0.05  # deviation of the factors that disturb each weight


class Views:
    """Draws batches: each row a head, each view another example of it."""

    def __init__(self, sources: Sequence[Maps], seed: int, changes: Changes) -> None:
        self.sources = [torch.from_numpy(maps) for maps in sources]
        self.heads = np.array([(s, h) for s, maps in enumerate(sources) for h in range(maps.shape[1])])
        self.dice = np.random.default_rng(seed)
        self.changes = changes
        made, labels, names = patterns(BANK, seed, SIDE)
        self.bank = torch.from_numpy(made)
        self.kinds = [np.flatnonzero(labels == kind) for kind in range(len(names))]

    def draw(self, batch: int, views: int = 2) -> list[Tensor]:
        """Maps (batch, 32, 32), as many times as there are views. All heads come before one comes again."""
        generated = round(GENERATED * batch)
        count = batch - generated
        rounds = -(-count // len(self.heads))
        order = np.concatenate([self.dice.permutation(len(self.heads)) for _ in range(rounds)])[:count]
        chosen = self.heads[order]
        parts = self._partners(chosen[:, 0])
        causal = torch.from_numpy(self.dice.random(count) < self.changes.causal)[:, None, None]
        sink = torch.from_numpy(self.dice.uniform(0, 0.9, count) * (self.dice.random(count) < self.changes.sink))
        kinds = self.dice.integers(0, len(self.kinds), generated)
        result = []
        for _ in range(views):
            real = self._examples(chosen, *parts)
            real = torch.where(causal, _causal(real), real) * (1 - sink.float()[:, None, None])
            real[:, :, 0] += sink.float()[:, None]
            made = self.bank[[self.dice.choice(self.kinds[kind]) for kind in kinds]]
            result.append(self._change(torch.cat([real, made])))
        return result

    def _partners(self, sources: NDArray[np.int64]) -> tuple[NDArray[np.int64], Tensor]:
        """Another head of the same model for each, and the weight it is mixed in with, often 0."""
        sizes = np.array([maps.shape[1] for maps in self.sources])[sources]
        weights = self.dice.uniform(0, 0.6, len(sources)) * (self.dice.random(len(sources)) < self.changes.mixed)
        return self.dice.integers(0, sizes), torch.from_numpy(weights).float()[:, None, None]

    def _examples(self, chosen: NDArray[np.int64], partners: NDArray[np.int64], weights: Tensor) -> Tensor:
        """A map of each chosen head on an example of its own; the partner's map is of the same example."""
        maps = torch.empty(len(chosen), SIDE, SIDE)
        for number, source in enumerate(self.sources):
            rows = np.flatnonzero(chosen[:, 0] == number)
            examples = self.dice.integers(0, len(source), len(rows))
            own, other = source[examples, chosen[rows, 1]].float(), source[examples, partners[rows]].float()
            maps[rows] = own + weights[rows] * (other - own)
        return maps

    def _change(self, maps: Tensor) -> Tensor:
        changes, count = self.changes, len(maps)
        cut = np.flatnonzero(self.dice.random(count) < changes.cropped)
        sizes = self.dice.uniform(changes.shortest, 1, len(cut))
        starts = self.dice.uniform(0, 1, len(cut)) * (1 - sizes)
        maps[cut] = crop(maps[cut], torch.from_numpy(starts).float(), torch.from_numpy(sizes).float())
        coarse = np.flatnonzero(self.dice.random(count) < changes.coarse)
        maps[coarse] = coarser(maps[coarse], int(self.dice.integers(SIDE // 2, SIDE)))
        noise = torch.from_numpy(self.dice.standard_normal(maps.shape, np.float32))
        return maps * torch.exp(changes.noise * noise)


def _causal(maps: Tensor) -> Tensor:
    return _rows_to_one(torch.tril(maps) + 1e-6 * torch.tril(torch.ones(SIDE, SIDE)))


def _rows_to_one(maps: Tensor) -> Tensor:
    return maps / (maps.sum(-1, keepdim=True) + 1e-6)


def crop(maps: Tensor, starts: Tensor, sizes: Tensor) -> Tensor:
    """Each map cut to its own range of the unit interval, the same for queries and keys, rows again with sum 1."""
    shares = _shares(starts, sizes, SIDE)
    return _rows_to_one(shares / shares.sum(-1, keepdim=True) @ maps @ shares.mT)


def coarser(maps: Tensor, side: int) -> Tensor:
    """Maps pooled to a smaller side and spread again."""
    whole = _shares(torch.zeros(1), torch.ones(1), side)[0]  # share of each of 32 bins in each of the fewer
    back = whole / whole.sum(1, keepdim=True)
    return whole.T @ (back @ maps @ whole.T) @ back


def _shares(starts: Tensor, sizes: Tensor, side: int) -> Tensor:
    """How much of each of 32 bins lies in each of `side` equal parts of a range: (range, part, bin)."""
    edges = SIDE * (starts[:, None] + sizes[:, None] * torch.arange(side + 1) / side)
    bins = torch.arange(SIDE)
    low, high = torch.maximum(edges[:, :-1, None], bins), torch.minimum(edges[:, 1:, None], bins + 1)
    return (high - low).clamp(min=0)
