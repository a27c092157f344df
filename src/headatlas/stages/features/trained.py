"""A trained network as encoder: a packaged one, or one trained by `headatlas encoder train`."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import ModelError
from headatlas.stages.features import network


@dataclass(frozen=True)
class TrainedEncoder:
    """An encoder that runs a trained network. Workers receive its path; each loads the file once and checks it."""

    name: str
    path: str
    width: int
    digest: str
    knows_heads: bool  # whether its training compared maps of one head on several texts
    net: network.AttentionNet | None = None

    reads: ClassVar[tuple[str, ...]] = ("pooled",)

    @classmethod
    def open(cls, path: str, name: str) -> TrainedEncoder:
        """Load a file."""
        net = network.load(path)
        knows_heads = network.facts(path).get("views", "heads") != "map"  # files without the fact compared heads
        return cls(name, path, net.shape["width"], _digest(path), knows_heads, net)

    def __reduce__(self) -> tuple[Any, ...]:
        return TrainedEncoder, (self.name, self.path, self.width, self.digest, self.knows_heads)

    def recipe(self) -> dict[str, Any]:
        """What determines the vectors."""
        return {"encoder": self.name, "sha256": self.digest}

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Encode maps with the network."""
        assert pooled is not None
        return network.vectors(self._load(), pooled)

    def _load(self) -> network.AttentionNet:
        if self.net is not None:
            return self.net
        with _loading:
            net, digest = _open(self.path)
        if digest != self.digest:
            raise ModelError(f"{self.path} on this worker differs from the file that the features were started with")
        return net


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _open(path: str) -> tuple[network.AttentionNet, str]:
    return network.load(path), _digest(path)


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
