"""Train an encoder to tell heads apart: two views of a head should agree, and features should not be redundant.

Barlow Twins (Zbontar et al. 2021): a network sees each head of a batch on two examples, and the correlation matrix of
the outputs for the two is pushed toward the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from headatlas.numeric.metrics import head_retrieval
from headatlas.stages.features import network
from headatlas.stages.features.network import AttentionNet, images
from headatlas.stages.features.objective import Interval, net_of
from headatlas.stages.features.views import Changes, HeadViews, Maps

FITTED = 100  # examples of an atlas that the last linear map is fitted to


@dataclass(frozen=True)
class Recipe:
    """Fixed hyperparameters."""

    projector: int = 1024
    weight: float = 5e-3  # weight of the correlations between different features
    shrink: float = 0.03  # shrinkage of the covariance within heads toward a sphere, as a share of its mean


class HeadTwins:
    """Maps of the same head on two examples should get the same vector."""

    least: ClassVar[int] = 2
    measure: ClassVar[str] = "head retrieval"

    def __init__(self, sources: Sequence[Maps], seed: int, width: int) -> None:
        self.sources, self.recipe = sources, Recipe()
        self.views = HeadViews(sources, seed, Changes())
        net = AttentionNet(width=width)
        self.trained = nn.ModuleDict({"net": net, "projector": _projector(net.shape["inner"], self.recipe.projector)})

    def loss(self, batch: int) -> Tensor:
        """The loss on a batch of heads."""
        channels = images(torch.cat(self.views.draw(batch)))
        first, second = self.trained["projector"](net_of(self.trained).inner(channels)).chunk(2)
        return barlow_twins(first, second, self.recipe.weight)

    def finish(self, trained: nn.ModuleDict) -> None:
        """Fit the last linear map: it whitens the variance within heads and keeps the axes that separate heads."""
        net, spreads, means = net_of(trained), [], []
        for maps in self.sources:
            inner = _inner(net, maps[:FITTED])
            centers = inner.mean(0)
            rest = (inner - centers).flatten(0, 1)
            spreads.append(rest.T @ rest / len(rest))
            means.append(centers)
        spread, heads = torch.stack(spreads).mean(0), torch.cat(means)
        spread += self.recipe.shrink * spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype)
        variances, axes = torch.linalg.eigh(spread)
        white = axes / variances.sqrt()
        center = torch.stack([centers.mean(0) for centers in means]).mean(0)
        total = (heads - center) @ white
        # the covariance within heads is now the identity: adding it keeps the order of the axes, and all are defined
        directions = torch.linalg.eigh(total.T @ total / len(total) + torch.eye(len(white), dtype=white.dtype))[1]
        net.centre.copy_(center)
        net.turn.copy_(white @ directions[:, -net.shape["width"] :].flip(1))

    def score(self, trained: nn.ModuleDict, held: Maps) -> Interval | None:
        """Head retrieval on held-out examples."""
        return head_retrieval(network.vectors(net_of(trained), held)) if len(held) > 1 else None

    def facts(self) -> dict[str, Any]:
        """How it is trained, for the file."""
        return {"method": "Barlow Twins", **asdict(self.recipe), **asdict(self.views.changes)}


def _projector(inputs: int, width: int) -> nn.Sequential:
    """Follows the network in training only: decorrelating more features than are used improves those."""
    return nn.Sequential(
        nn.GELU(),
        nn.Linear(inputs, width, bias=False),
        nn.BatchNorm1d(width),
        nn.GELU(),
        nn.Linear(width, width, bias=False),
    )


def barlow_twins(first: Tensor, second: Tensor, weight: float) -> Tensor:
    """Distance of the correlations between two views (row, feature) from the identity.

    >>> same = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> barlow_twins(same, same, 0.5).item() < 1e-6, round(barlow_twins(same, same.flip(1), 0.5).item(), 3)
    (True, 3.0)
    """
    left, right = ((view - view.mean(0)) / (view.std(0, correction=0) + 1e-4) for view in (first, second))
    correlation = left.T @ right / len(left)
    diagonal = correlation.diagonal()
    others = correlation.square().sum() - diagonal.square().sum()
    return (1 - diagonal).square().sum() + weight * others


def _inner(net: AttentionNet, maps: Maps) -> Tensor:
    """Vectors before the last linear map (example, head, feature), in double precision."""
    with torch.inference_mode():
        return torch.stack([net.inner(images(example)).double() for example in maps])
