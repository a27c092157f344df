"""What an encoder is trained to do: the interface, shared by both kinds of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, cast

from torch import Tensor, nn

from headatlas.stages.features.network import AttentionNet
from headatlas.stages.features.views import Maps

Interval = tuple[float, float, float]  # a score and its 95 % interval


class Objective(Protocol):
    """The network, with what is trained beside it, and its loss; made from maps (example, head, query, key)."""

    least: ClassVar[int]  # fewest examples of an atlas
    measure: ClassVar[str]  # what is scored on held-out examples
    trained: nn.ModuleDict  # the network as "net"

    def __init__(self, sources: Sequence[Maps], seed: int, width: int) -> None: ...

    def loss(self, batch: int) -> Tensor:
        """The loss on a new batch."""

    def finish(self, trained: nn.ModuleDict) -> None:
        """Compute the last linear map of a trained network."""

    def score(self, trained: nn.ModuleDict, held: Maps) -> Interval | None:
        """The measure on held-out examples; None if there are too few."""

    def facts(self) -> dict[str, Any]:
        """How it is trained, for the file."""


def net_of(trained: nn.ModuleDict) -> AttentionNet:
    """The network itself."""
    return cast(AttentionNet, trained["net"])
