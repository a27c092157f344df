"""A Hugging Face vision model as encoder: maps become gray images, and its pooled output is the vector."""

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

PIXELS = 2**21  # in one forward pass: more needs memory without saving time on a CPU


def scaled(maps: NDArray[Any]) -> NDArray[np.float32]:
    """The square root, so that weak structure is visible, scaled to 0–1 per map."""
    return _stretched(np.sqrt(maps.astype(np.float32)), (1, 2))


def scaled_columns(maps: NDArray[Any]) -> NDArray[np.float32]:
    """Each column scaled to 0–1, as in an earlier system."""
    return _stretched(maps.astype(np.float32), (1,))


def _stretched(values: NDArray[np.float32], axes: tuple[int, ...]) -> NDArray[np.float32]:
    low, high = values.min(axes, keepdims=True), values.max(axes, keepdims=True)
    span = high - low
    stretched: NDArray[np.float32] = (values - low) / np.where(span > 0, span, 1)
    return stretched


SCALES: dict[str, Callable[[NDArray[Any]], NDArray[np.float32]]] = {"default": scaled, "capstone": scaled_columns}


@dataclass(frozen=True)
class VisionModel:
    """A loaded vision model: its network, its image format, and the digest of all that determines its output."""

    network: Any
    size: tuple[int, int]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    digest: str

    def pixels(self, gray: NDArray[np.float32]) -> torch.Tensor:
        """Gray images (map, query, key) resized for the model, with equal channels, normalized as in training."""
        images = torch.nn.functional.interpolate(
            torch.from_numpy(gray)[:, None], self.size, mode="bilinear", antialias=True, align_corners=False
        )
        mean, deviation = (torch.tensor(values).view(1, -1, 1, 1) for values in (self.mean, self.deviation))
        return (images - mean) / deviation

    def vectors(self, gray: NDArray[np.float32]) -> torch.Tensor:
        """One vector per image."""
        step = max(1, PIXELS // (self.size[0] * self.size[1]))
        with torch.inference_mode():
            pieces = [pooled(self.network, self.pixels(gray[n : n + step])) for n in range(0, len(gray), step)]
        return torch.cat(pieces)


def pooled(network: Any, images: torch.Tensor) -> torch.Tensor:
    """The [CLS] token, else the model's pooled output, else the mean over patches.

    A pooler with weights after a [CLS] token is ignored: the files of many models lack it.
    """
    output = network(pixel_values=images)
    names = [name for name, _ in network.named_parameters()]
    has_class = any(name.endswith(("cls_token", "class_embedding")) for name in names)
    pooler_output = getattr(output, "pooler_output", None)
    if pooler_output is not None and not (has_class and any("pooler" in name for name in names)):
        return pooler_output.flatten(1)  # type: ignore[no-any-return]
    last = output.last_hidden_state
    if has_class:
        return last[:, 0]  # type: ignore[no-any-return]
    return last.mean(1) if last.ndim == 3 else last.flatten(2).mean(2)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VisionEncoder:
    """An encoder that runs a vision model. Workers receive its name; each loads it once and checks its weights."""

    name: str
    source: str
    preprocess: str
    width: int
    digest: str
    model: VisionModel | None = None

    reads: ClassVar[tuple[str, ...]] = ("pooled",)

    def __reduce__(self) -> tuple[Any, ...]:
        return VisionEncoder, (self.name, self.source, self.preprocess, self.width, self.digest)

    def recipe(self) -> dict[str, Any]:
        """What determines the vectors."""
        return {"encoder": "vision", "model": self.name, "sha256": self.digest, "preprocess": self.preprocess}

    def encode(self, pooled: NDArray[Any] | None, stats: NDArray[Any] | None) -> NDArray[np.float32]:
        """Encode maps with the model."""
        assert pooled is not None
        vectors: NDArray[np.float32] = self._load().vectors(SCALES[self.preprocess](pooled)).numpy()
        return vectors

    def _load(self) -> VisionModel:
        if self.model is not None:
            return self.model
        with _loading:
            model = _load_model(self.source)
        if model.digest != self.digest:
            raise ModelError(
                f"{self.name} has other weights on this worker than those that the features were started with"
            )
        return model


_loading = threading.Lock()


def load(name: str, preprocess: str = "default") -> VisionEncoder:
    """Load a vision model by hub name or folder, and check that it is deterministic."""
    source, label = resolve(name)
    model = _load_model.__wrapped__(source)
    noise = np.random.default_rng(0).random((2, 32, 32), np.float32)
    first, second = model.vectors(noise), model.vectors(noise)
    if not torch.equal(first, second):
        raise ModelError(f"{label} returns different vectors for the same image. Choose another encoder")
    short = Path(label).name + ("" if preprocess == "default" else f"-{preprocess}")
    return VisionEncoder(short, source, preprocess, first.shape[1], model.digest, model)


@lru_cache(maxsize=1)
def _load_model(source: str) -> VisionModel:
    label = Path(source).name if Path(source).is_dir() else source
    with quiet():
        network, notes = read_network(source, label)
    network = getattr(network, "vision_model", network).eval()
    if getattr(network, "main_input_name", None) != "pixel_values":
        raise ModelError(f"{label} does not read images. Choose a vision model")
    processor, size, guessed = image_processor(source, network.config)
    for note in notes + guessed:
        progress.say(f"{label}: {note}")
    channels = int(getattr(network.config, "num_channels", 3))
    mean = _per_channel(processor.image_mean, channels) if processor.do_normalize else (0.0,) * channels
    deviation = _per_channel(processor.image_std, channels) if processor.do_normalize else (1.0,) * channels
    return VisionModel(network, size, mean, deviation, _digest(network, [size, mean, deviation]))


def _per_channel(values: Any, channels: int) -> tuple[float, ...]:
    """One value per channel."""
    converted = tuple(float(value) for value in np.atleast_1d(values))
    return converted if len(converted) == channels else converted[:1] * channels


def _digest(network: Any, images: list[Any]) -> str:
    digest = hashlib.sha256((settings(network.config) + repr(images)).encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
