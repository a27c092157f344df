"""The network that turns a pooled attention map into a vector, and its file format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.atlas.files import Files
from headatlas.errors import ModelError
from headatlas.numeric.pooling import pooling_matrices

WEIGHTS = Path(__file__).parent / "weights"
HEADS, MAPS = WEIGHTS / "heads.safetensors", WEIGHTS / "maps.safetensors"
FORMAT = {"format": "headatlas-encoder", "version": "1"}
SIDE = 32
CHANNELS = 4
SHAPE = ("hidden", "depth", "inner", "width")


def images(maps: NDArray[Any] | Tensor) -> Tensor:
    """Maps (map, r, r) as images (map, channel, 32, 32), with channels of similar scale.

    The square root divided by its largest value shows the strong weights. Two logarithms show the weak weights, which
    are characteristic of a head. The last channel holds the similarity of rows (above the diagonal) and of columns
    (below it), which no single weight shows: for instance, that all queries attend to the same keys.
    """
    values = resized(torch.as_tensor(maps).float())
    root = values.sqrt()
    queries, keys = root @ root.mT, root.mT @ root
    return torch.stack(
        [
            2 * root / (root.amax((-1, -2), keepdim=True) + 1e-6) - 0.4,
            (torch.log(values + 1e-3) + 5) / 1.5,
            (torch.log(values + 1e-5) + 7) / 3,
            torch.triu(3 * queries - 1.8, 1) + torch.tril((torch.log(keys + 1e-3) + 3) / 2),
        ],
        1,
    )


def resized(maps: Tensor) -> Tensor:
    """Maps of any side pooled to 32 × 32."""
    side = maps.shape[-1]
    if side == SIDE:
        return maps
    rows, columns = (torch.from_numpy(matrix).float() for matrix in pooling_matrices(side, side, SIDE))
    return rows @ maps @ columns


class Block(nn.Module):
    """A residual layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inside = dense(width, width)

    def forward(self, values: Tensor) -> Tensor:
        """The input plus the output of the layer."""
        return values + self.inside(values)  # type: ignore[no-any-return]


def dense(inputs: int, outputs: int) -> nn.Sequential:
    """A linear layer with batch normalization and GELU."""
    return nn.Sequential(nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), nn.GELU())


class AttentionNet(nn.Module):
    """Turns images of maps into vectors.

    Layers are dense, not convolutional: the position of a weight is what it means, and large matrix products are fast
    on a CPU. The last step is a fixed linear map, computed after training. Without `normalized`, features before it
    keep their scale: those that vary little stay small.
    """

    def __init__(
        self, hidden: int = 512, depth: int = 2, inner: int = 256, width: int = 128, *, normalized: bool = True
    ) -> None:
        super().__init__()
        self.shape = {"hidden": hidden, "depth": depth, "inner": inner, "width": width, "normalized": int(normalized)}
        self.layers = nn.Sequential(
            nn.Flatten(), dense(CHANNELS * SIDE * SIDE, hidden), *(Block(hidden) for _ in range(depth))
        )
        scales = [nn.BatchNorm1d(inner)] if normalized else []
        self.last = nn.Sequential(nn.Linear(hidden, inner, bias=False), *scales)
        self.centre: Tensor
        self.turn: Tensor
        self.register_buffer("centre", torch.zeros(inner))
        self.register_buffer("turn", torch.eye(inner, width))

    def inner(self, channels: Tensor) -> Tensor:
        """The trained part: the vector before the fixed linear map."""
        return self.last(self.layers(channels))  # type: ignore[no-any-return]

    def forward(self, channels: Tensor) -> Tensor:
        """Vectors (map, width); a map of NaN gives NaN and does not affect the others."""
        return (self.inner(channels) - self.centre) @ self.turn

    @property
    def parameters_count(self) -> int:
        """Number of parameters and buffers that determine the vectors."""
        return sum(tensor.numel() for tensor in _tensors(self).values())


def _tensors(net: AttentionNet) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in net.state_dict().items() if not name.endswith("num_batches_tracked")}


def stored(name: str, tensor: Tensor) -> Tensor:
    """A tensor as stored: large matrices in half precision, which halves the file. Scores are computed from these."""
    return tensor.half() if name.endswith("weight") and tensor.ndim == 2 else tensor


def save(net: AttentionNet, path: str | os.PathLike[str], facts: Mapping[str, Any]) -> None:
    """Write a network and its facts as a safetensors file, atomically."""
    from safetensors.torch import save as to_bytes

    tensors = {name: stored(name, tensor).contiguous() for name, tensor in _tensors(net).items()}
    metadata = {**FORMAT, "shape": json.dumps(net.shape), "facts": json.dumps(dict(facts), sort_keys=True)}
    target = Path(path).expanduser()
    Files(target.parent).write(target.name, _in_order(to_bytes(tensors, metadata)))


def _in_order(content: bytes) -> bytes:
    """The same safetensors file with its header sorted: the library writes metadata in random order."""
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def load(path: str | os.PathLike[str] = HEADS) -> AttentionNet:
    """Load a network made by `save`, ready for use."""
    tensors, metadata = _read(Path(path).expanduser())
    try:
        shape = json.loads(metadata["shape"])
        sizes = {name: int(shape[name]) for name in SHAPE}
        net = AttentionNet(**sizes, normalized=bool(shape.get("normalized", True)))
        wanted = {name: tuple(tensor.shape) for name, tensor in _tensors(net).items()}
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} does not record the shape of its network ({error}): train it again") from error
    wrong = [name for name, size in wanted.items() if name not in tensors or tuple(tensors[name].shape) != size]
    if wrong or len(tensors) != len(wanted):
        what = wrong[0] if wrong else min(set(tensors) - set(wanted))
        raise ModelError(
            f"{path} is damaged: {what} is missing, unexpected or of the wrong shape. Copy or train it again"
        )
    net.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, strict=False)
    return net.eval()


def facts(path: str | os.PathLike[str] = HEADS) -> dict[str, Any]:
    """The facts stored with a network: how it was trained."""
    stored_facts: dict[str, Any] = json.loads(_read(Path(path).expanduser())[1].get("facts", "{}"))
    return stored_facts


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ModelError(f"there is no encoder at {path}. Train one: headatlas encoder train ATLAS… -o {path}")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT["format"]:
                raise ModelError(f"{path} is not an encoder made by `headatlas encoder train`")
            if metadata.get("version") != FORMAT["version"]:
                raise ModelError(
                    f"{path} was made by a later version of headatlas: update headatlas, or train it again"
                )
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} cannot be read as safetensors ({error}): copy or train it again") from error


def vectors(net: AttentionNet, maps: NDArray[Any], batch: int = 1024) -> NDArray[np.float32]:
    """Vectors of maps (…, r, r) as (…, width)."""
    flat = maps.reshape(-1, *maps.shape[-2:])
    with torch.inference_mode():
        parts = [net(images(flat[start : start + batch])) for start in range(0, len(flat), batch)]
    return torch.cat(parts).numpy().reshape(*maps.shape[:-2], -1)
