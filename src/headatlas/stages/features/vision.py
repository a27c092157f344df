"""A Hugging Face vision model as encoder: maps become grey images, the model's pooled output becomes the vector."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas import progress
from headatlas.errors import ModelError
from headatlas.models.load import image_processor, quiet, read_network, resolve
from headatlas.models.model import settings

PIXELS = 2**21  # in one forward pass: more would cost memory and gain no time on a CPU


def scaled(maps: NDArray[Any]) -> NDArray[np.float32]:
    """Square root, so that faint structure shows, then from the smallest to the largest value of each map: 0 to 1."""
    return _stretched(np.sqrt(maps.astype(np.float32)), (1, 2))


def scaled_columns(maps: NDArray[Any]) -> NDArray[np.float32]:
    """Each column from its own smallest to its own largest value, as an earlier system did."""
    return _stretched(maps.astype(np.float32), (1,))


def _stretched(values: NDArray[np.float32], axes: tuple[int, ...]) -> NDArray[np.float32]:
    low, high = values.min(axes, keepdims=True), values.max(axes, keepdims=True)
    span = high - low
    stretched: NDArray[np.float32] = (values - low) / np.where(span > 0, span, 1)
    return stretched


SCALES: dict[str, Callable[[NDArray[Any]], NDArray[np.float32]]] = {"default": scaled, "capstone": scaled_columns}


@dataclass(frozen=True)
class Seeing:
    """A loaded vision model: its network, the images it takes, and the digest of all that decides its answer."""

    network: Any
    size: tuple[int, int]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    digest: str

    def pixels(self, grey: NDArray[np.float32]) -> torch.Tensor:
        """Grey images (map, query, key) at the model's size, in equal channels, normalised as it was trained."""
        images = torch.nn.functional.interpolate(
            torch.from_numpy(grey)[:, None], self.size, mode="bilinear", antialias=True, align_corners=False
        )
        mean, deviation = (torch.tensor(one).view(1, -1, 1, 1) for one in (self.mean, self.deviation))
        return (images - mean) / deviation

    def vectors(self, grey: NDArray[np.float32]) -> torch.Tensor:
        """One vector an image."""
        step = max(1, PIXELS // (self.size[0] * self.size[1]))
        with torch.inference_mode():
            pieces = [pooled(self.network, self.pixels(grey[n : n + step])) for n in range(0, len(grey), step)]
        return torch.cat(pieces)


def pooled(network: Any, images: torch.Tensor) -> torch.Tensor:
    """The [CLS] token, else the model's own pooled output, else the mean over patches.

    A pooler with weights of its own behind a [CLS] token is passed over: the files of many models lack it.
    """
    output = network(pixel_values=images)
    names = [name for name, _ in network.named_parameters()]
    has_class = any(name.endswith(("cls_token", "class_embedding")) for name in names)
    own = getattr(output, "pooler_output", None)
    if own is not None and not (has_class and any("pooler" in name for name in names)):
        return own.flatten(1)  # type: ignore[no-any-return]
    last = output.last_hidden_state
    if has_class:
        return last[:, 0]  # type: ignore[no-any-return]
    return last.mean(1) if last.ndim == 3 else last.flatten(2).mean(2)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VisionEncoder:
    """Vectors of a vision model. It travels to workers by name; each loads the model once and checks its weights."""

    name: str
    source: str
    preprocess: str
    width: int
    digest: str
    seeing: Seeing | None = None

    reads: ClassVar[tuple[str, ...]] = ("pooled",)

    def __reduce__(self) -> tuple[Any, ...]:
        return VisionEncoder, (self.name, self.source, self.preprocess, self.width, self.digest)

    def recipe(self) -> dict[str, Any]:
        """What decides its vectors."""
        return {"encoder": "vision", "model": self.name, "sha256": self.digest, "preprocess": self.preprocess}

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """The model's vector of each map."""
        assert pooled is not None
        found: NDArray[np.float32] = self._load().vectors(SCALES[self.preprocess](pooled)).numpy()
        return found

    def _load(self) -> Seeing:
        if self.seeing is not None:
            return self.seeing
        with _loading:
            seeing = _see(self.source)
        if seeing.digest != self.digest:
            raise ModelError(f"{self.name} has other weights on this worker than where the features were begun")
        return seeing


_loading = threading.Lock()


def load(name: str, preprocess: str = "default") -> VisionEncoder:
    """Load a vision model by hub name or folder, and try it once."""
    source, label = resolve(name)
    seeing = _see.__wrapped__(source)
    noise = np.random.default_rng(0).random((2, 32, 32), np.float32)
    first, second = seeing.vectors(noise), seeing.vectors(noise)
    if not torch.equal(first, second):
        raise ModelError(f"{label} gives another answer each time it sees the same image. Choose another encoder")
    short = Path(label).name + ("" if preprocess == "default" else f"-{preprocess}")
    return VisionEncoder(short, source, preprocess, first.shape[1], seeing.digest, seeing)


@lru_cache(maxsize=1)
def _see(source: str) -> Seeing:
    label = Path(source).name if Path(source).is_dir() else source
    with quiet():
        network, notes = read_network(source, label)
    network = getattr(network, "vision_model", network).eval()
    if getattr(network, "main_input_name", None) != "pixel_values":
        raise ModelError(f"{label} does not read images, which maps are made for an encoder. Choose a vision model")
    processor, size, guessed = image_processor(source, network.config)
    for note in notes + guessed:
        progress.say(f"{label}: {note}")
    channels = int(getattr(network.config, "num_channels", 3))
    mean = _each(processor.image_mean, channels) if processor.do_normalize else (0.0,) * channels
    deviation = _each(processor.image_std, channels) if processor.do_normalize else (1.0,) * channels
    return Seeing(network, size, mean, deviation, _digest(network, [size, mean, deviation]))


def _each(values: Any, channels: int) -> tuple[float, ...]:
    """One value a channel."""
    found = tuple(float(value) for value in np.atleast_1d(values))
    return found if len(found) == channels else found[:1] * channels


def _digest(network: Any, images: list[Any]) -> str:
    digest = hashlib.sha256((settings(network.config) + repr(images)).encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
