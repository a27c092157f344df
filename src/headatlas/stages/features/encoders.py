"""Encoders turn a map into a vector. `NAMES` is the registry of the named ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.options import either
from headatlas.statistics import usual

DEFAULT = "profile"
RENAMED = {"attention-ssl": "heads"}
PREPROCESS = ("default", "capstone")
VIEWS = {  # what `headatlas encoder train` trains on
    "map": "two views of the same map: the network restores corrupted maps, and never knows which head they are from",
    "heads": "maps of the same head on two examples: the network tells heads apart",
}


class Draw(Protocol):
    """What an encoder is made from."""

    def __call__(self, array: str, /) -> NDArray[Any]:
        """A sample of one array of the atlas: one row per map that exists."""

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the statistics of each map, in order."""


@runtime_checkable
class Encoder(Protocol):
    """The interface of encoders. Workers receive a copy, so an encoder must pickle.

    Three more attributes are used if present: `name`; `reads`, the arrays it needs of `("pooled", "stats")` (an array
    that is not read is None when `encode` is called); and `knows_heads`, whether it was trained to tell heads apart, so
    that clusters of its vectors follow heads by construction.
    """

    @property
    def width(self) -> int:
        """Length of the vectors."""

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the vectors, as plain JSON: vectors with the same recipe are not recomputed."""

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Vectors (map, width) of pooled maps (map, query, key) and their statistics (map, stat)."""


@dataclass(frozen=True)
class Choice:
    """A chosen encoder: its name, its recipe, and a function that makes it from a sample of maps."""

    name: str
    recipe: dict[str, Any]
    make: Callable[[Draw], Encoder]


@dataclass(frozen=True)
class Named:
    """A named encoder; `choose` takes the sample size and the seed."""

    name: str
    help: str  # what the vector of a map is
    width: str
    choose: Callable[[int, int], Choice]


def choices() -> str:
    """The ways to choose an encoder, for help and errors."""
    return (
        f"{', '.join(NAMES)}, a .safetensors file made by `headatlas encoder train`, or a Hugging Face vision model by "
        "its full name (facebook/dinov2-small) or folder"
    )


def choose(encoder: str | os.PathLike[str] | Encoder, preprocess: str, sample: int, seed: int) -> Choice:
    """Find an encoder by name, file or vision model, or use the given object."""
    if preprocess not in PREPROCESS:
        raise OptionError(f"preprocess {preprocess!r}: choose {either(PREPROCESS)}")
    encoder = os.fspath(encoder) if isinstance(encoder, os.PathLike) else encoder
    if isinstance(encoder, str) and is_vision(encoder):
        from headatlas.stages.features import vision

        model = vision.load(encoder, preprocess)
        return Choice(_plain(model.name), model.recipe(), lambda draw: model)
    if preprocess != "default":
        raise OptionError(f"preprocess {preprocess} is only for vision models; other encoders use maps as they are")
    if not isinstance(encoder, str):
        return _given(encoder)
    if encoder in NAMES:
        return NAMES[encoder].choose(sample, seed)
    return _trained(str(Path(encoder).expanduser().resolve()), Path(encoder).stem)


def is_vision(encoder: str) -> bool:
    """Whether the name refers to a vision model; raises an error for a name that fits no encoder."""
    if encoder in NAMES:
        return False
    path = Path(encoder).expanduser()
    if path.is_dir():
        return True
    if path.suffix == ".safetensors" and path.is_file():
        return False
    if path.suffix == ".safetensors" or "/" not in encoder:
        what = f"the file {encoder} is missing" if path.suffix == ".safetensors" else f"no encoder is named {encoder!r}"
        if encoder in RENAMED:
            raise OptionError(f"{encoder} is called {RENAMED[encoder]} now: it was trained to tell heads apart")
        raise OptionError(f"{what}. Choose {choices()}")
    return True


def _given(encoder: Encoder) -> Choice:
    if not isinstance(encoder, Encoder):
        raise OptionError(
            f"{type(encoder).__name__} is not an encoder: it needs width, recipe() and encode(pooled, stats)"
        )
    name = getattr(encoder, "name", None) or type(encoder).__name__.lower()
    return Choice(_plain(str(name)), encoder.recipe(), lambda draw: encoder)


def _plain(name: str) -> str:
    """A valid name for a result."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:64] or "encoder"


def _profile(sample: int, seed: int) -> Choice:
    from headatlas.stages.features.profile import RECIPE, ProfileEncoder

    return Choice(DEFAULT, RECIPE, lambda draw: ProfileEncoder(draw.statistics))


def _heads(sample: int, seed: int) -> Choice:
    from headatlas.stages.features import network

    return _trained(str(network.HEADS), "heads")


def _maps(sample: int, seed: int) -> Choice:
    from headatlas.stages.features import network

    return _trained(str(network.MAPS), "maps")


def _trained(path: str, name: str) -> Choice:
    from headatlas.stages.features.trained import TrainedEncoder

    trained = TrainedEncoder.open(path, name)
    return Choice(_plain(name), trained.recipe(), lambda draw: trained)


def _pooled(sample: int, seed: int) -> Choice:
    from headatlas.stages.features.baselines import PooledEncoder

    facts = {"encoder": "pooled", "sample": sample, "seed": seed}
    return Choice("pooled", facts, lambda draw: PooledEncoder.fit(draw("pooled"), facts))


def _stats(sample: int, seed: int) -> Choice:
    from headatlas.stages.features.baselines import StatsEncoder

    facts = {"encoder": "stats", "sample": sample, "seed": seed}
    return Choice("stats", facts, lambda draw: StatsEncoder.fit(draw("stats")[:, : usual(draw.statistics)], facts))


NAMES: dict[str, Named] = {
    named.name: named
    for named in (
        Named(
            DEFAULT,
            "square roots of attention by distance and on sinks, content beyond distance, and a coarse map; nothing is "
            "trained",
            "89 for texts",
            _profile,
        ),
        Named(
            "heads",
            "a network trained to tell heads apart, for finding related heads; compare by cosine",
            "128",
            _heads,
        ),
        Named(
            "maps",
            "a network trained to restore corrupted maps; it never knew which head a map is from",
            "128",
            _maps,
        ),
        Named("pooled", "principal components of the square root of the pooled map", "at most 64", _pooled),
        Named(
            "stats",
            "the statistics of a map, each with mean 0 and deviation 1; 0 where one is undefined",
            "number of statistics",
            _stats,
        ),
    )
}
