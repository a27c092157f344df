"""Train an encoder to restore corrupted maps: a denoising autoencoder (Vincent et al. 2008). It sees maps, not heads.

What is restored are square roots of masses, so that errors are Hellinger distances: strong and weak structure count on
their natural scale. The decoder is linear: distances of vectors are the distances of what is restored from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from headatlas.numeric.metrics import interval
from headatlas.stages.features.corruption import Corruption, MapViews
from headatlas.stages.features.network import SIDE, AttentionNet, images
from headatlas.stages.features.objective import Interval, net_of
from headatlas.stages.features.views import Maps

FITTED = 20_000  # maps of an atlas that the last linear map is fitted to, about
DISTANCES, KEYS = 1.0, 0.7  # weights of attention by distance and by key, beside the map
STARTED = 512  # maps whose mean training starts from
DRAWS = 1000  # of the bootstrap


class Restoration:
    """Maps should be restored from the vectors of their corrupted views."""

    least: ClassVar[int] = 1
    measure: ClassVar[str] = "variance of maps restored"

    def __init__(self, sources: Sequence[Maps], seed: int, width: int) -> None:
        self.views, self.seed = MapViews(sources, seed, Corruption()), seed
        net = AttentionNet(inner=width, width=width, normalized=False)
        mean = targets(self.views.draw(STARTED)[1]).mean(0)
        decoder = nn.Linear(width, len(mean))
        decoder.bias.data = SIDE * mean  # training starts from the mean map
        self.trained = nn.ModuleDict({"net": net, "decoder": decoder})

    def loss(self, batch: int) -> Tensor:
        """Mean squared distance of maps and what is restored."""
        views, maps = self.views.draw(batch)
        return (restored(self.trained, views) - targets(maps)).square().sum(1).mean()

    @torch.no_grad()
    def finish(self, trained: nn.ModuleDict) -> None:
        """Set the last linear map: principal axes of what is restored, each on its own scale."""
        net = net_of(trained)
        samples = [maps[:: -(-len(maps) // FITTED)] for maps in self.views.sources]
        inner = torch.cat([net.inner(images(part)).double() for maps in samples for part in torch.split(maps, 1024)])
        # an orthogonal basis of what the decoder can produce: in its coordinates, distances are those of restored maps
        decoder = cast(nn.Linear, trained["decoder"])
        basis = torch.linalg.qr(decoder.weight.double() / SIDE)[1].mT
        center = inner.mean(0)
        points = (inner - center) @ basis
        axes = torch.linalg.eigh(points.T @ points / len(points))[1].flip(1)
        net.centre.copy_(center)
        net.turn.copy_(basis @ axes)

    @torch.no_grad()
    def score(self, trained: nn.ModuleDict, held: Maps) -> Interval | None:
        """Share of the variance of held-out maps that is restored from corrupted views; interval over examples."""
        if len(held) < 2:
            return None
        maps = torch.from_numpy(held).float()
        wanted = torch.stack([targets(example) for example in maps])
        results = torch.stack([restored(trained, self.views.corrupt(example)) for example in maps])
        errors = (results - wanted).square().sum((1, 2)).numpy()
        total = (wanted - wanted.mean((0, 1))).square().sum((1, 2)).numpy()
        chosen = np.random.default_rng(self.seed).integers(0, len(held), (DRAWS, len(held)))
        low, high = interval(1 - errors[chosen].sum(1) / total[chosen].sum(1))
        return float(1 - errors.sum() / total.sum()), float(low), float(high)

    def facts(self) -> dict[str, Any]:
        """How it is trained, for the file."""
        weights = {"distances": DISTANCES, "keys": KEYS}
        return {"method": "denoising autoencoder", **weights, **asdict(self.views.corruption)}


def restored(trained: nn.ModuleDict, views: Tensor) -> Tensor:
    """What is restored from corrupted views; divided by 32, so that weights of the decoder are of usual size."""
    return trained["decoder"](net_of(trained).inner(images(views))) / SIDE  # type: ignore[no-any-return]


def targets(maps: Tensor) -> Tensor:
    """Square roots of the shares of attention in each cell, at each distance, and on each key (map, target).

    >>> round(targets(torch.eye(32)[None]).square().sum().item(), 2)
    2.49
    """
    cells = torch.sqrt(maps.flatten(1) / SIDE)
    return torch.cat([cells, DISTANCES * by_distance(maps).sqrt(), KEYS * maps.mean(1).sqrt()], 1)


def by_distance(maps: Tensor) -> Tensor:
    """Mean attention by distance from query to key, from 31 bins back to 31 bins ahead (map, 63).

    >>> by_distance(torch.eye(32)[None])[0, 30:33].tolist()
    [0.0, 1.0, 0.0]
    """
    places = torch.arange(SIDE)
    offsets = (places[None] - places[:, None] + SIDE - 1).flatten()
    return torch.zeros(len(maps), 2 * SIDE - 1).index_add(1, offsets, maps.flatten(1)) / SIDE
