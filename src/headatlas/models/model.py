"""A loaded model: its layers, the axes of its heads, and how its attention is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from headatlas.data.pictures import Crop
from headatlas.errors import OptionError
from headatlas.models import packaged

if TYPE_CHECKING:
    import torch

Kind = Literal["encoder", "decoder", "cross"]
Modality = Literal["text", "image"]
Route = Literal["registry", "outputs"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One attention layer, as observed in a trial forward pass.

    `heads` query heads share `key_heads` key heads; every head is `width` wide. `standard` means that the layer was
    proven to compute softmax(scaling · q kᵀ + mask), so that its maps can be computed without the model's code.
    A layer with `sink` gives part of each row to no token at all.
    """

    index: int
    kind: Kind
    heads: int
    key_heads: int
    width: int
    causal: bool
    module: str
    scaling: float | None = None
    standard: bool = False
    sink: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """The tokens of an image: names of the special tokens first, then rows × columns of patches.

    `crop` is the part of a picture that the patches cover; None: all of it.
    """

    special: tuple[str, ...]
    rows: int
    columns: int
    crop: Crop | None = None


@dataclass(eq=False, repr=False)
class Model:
    """A loaded model with everything the stages need. Returned by `models.load`."""

    name: str
    network: torch.nn.Module
    modality: Modality
    family: str
    route: Route
    layers: tuple[Layer, ...]
    layer_of_call: dict[int, int]
    max_tokens: int
    tokenizer: Any = None
    processor: Any = None
    grid: Grid | None = None
    source: str | None = None  # what other processes load; None for a network that exists only in this process
    revision: str | None = None
    padding: bool = True  # whether examples of different lengths may share a batch
    notes: tuple[str, ...] = ()
    _projections: Any = None

    @property
    def heads(self) -> int:
        """Length of the head axis: the largest number of heads of any layer."""
        return max(layer.heads for layer in self.layers)

    @property
    def key_heads(self) -> int:
        """Length of the key-head axis."""
        return max(layer.key_heads for layer in self.layers)

    @property
    def width(self) -> int:
        """Width of the widest head."""
        return max(layer.width for layer in self.layers)

    @property
    def encoder_decoder(self) -> bool:
        """Whether examples have a source and a target."""
        return any(layer.kind == "cross" for layer in self.layers)

    @property
    def has_vectors(self) -> bool:
        """Whether queries, keys and values can be read."""
        return self.route == "registry" or self._projections is not None

    @cached_property
    def hash(self) -> str:
        """Digest of the weights, layers and settings: the same weights split into other heads are another model."""
        import torch

        shapes = [(layer.kind, layer.heads, layer.key_heads, layer.width) for layer in self.layers]
        digest = hashlib.sha256(repr(shapes).encode())
        digest.update(settings(self.network.config).encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    def facts(self) -> dict[str, Any]:
        """Everything an atlas stores about the model, as plain JSON."""
        return {
            "name": self.name,
            "revision": self.revision,
            "source": packaged.source(self.name) or self.source,
            "hash": self.hash,
            "family": self.family,
            "modality": self.modality,
            "route": self.route,
            "heads": self.heads,
            "key_heads": self.key_heads,
            "width": self.width,
            "max_tokens": self.max_tokens,
            "grid": asdict(self.grid) if self.grid else None,
            "layers": [asdict(layer) for layer in self.layers],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        shared = f", {self.key_heads} key heads" if self.key_heads != self.heads else ""
        return f"{self.name} ({self.family}): {heads_line(self.layers)}{shared}, {self.width} wide"

    def __repr__(self) -> str:
        return f"<Model {self}>"

    def _repr_html_(self) -> str:
        from headatlas.models.pictures import facts_table

        limit = f"{self.max_tokens:,} tokens" if self.modality == "text" else "images"
        heads = f"{heads_line(self.layers)}, {self.width} wide"
        facts = {
            "model": f"{self.name} ({self.family})",
            "heads": heads,
            "reads": limit,
            "notes": "; ".join(self.notes),
        }
        return facts_table({name: value for name, value in facts.items() if value})


def heads_line(layers: Sequence[Layer]) -> str:
    """How many layers of each kind, and heads.

    >>> heads_line([Layer(0, "decoder", 4, 2, 8, True, "0"), Layer(1, "decoder", 4, 2, 8, True, "1")])
    '2 decoder layers × 4 heads'
    """
    kinds = {layer.kind: sum(other.kind == layer.kind for other in layers) for layer in layers}
    counts = " + ".join(f"{count} {kind}" for kind, count in kinds.items())
    heads = max(layer.heads for layer in layers)
    return f"{counts} layer{'s' * (len(layers) > 1)} × {heads} head{'s' * (heads > 1)}"


def check_head(heads: Sequence[int], layer: int, head: int) -> None:
    """Raise OptionError, which says what exists, if there is no such layer or head; `heads` of each layer."""
    if not 0 <= layer < len(heads):
        raise OptionError(f"layer {layer}: the layers are 0 to {len(heads) - 1}")
    if not 0 <= head < heads[layer]:
        raise OptionError(f"head {head}: the heads of layer {layer} are 0 to {heads[layer] - 1}")


def settings(config: Any) -> str:
    """The settings of a configuration that affect the computation, such as the base of rotary embeddings."""
    ignored = {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version", "_attn_implementation"}
    plain = {name: value for name, value in config.to_dict().items() if name not in ignored}
    return json.dumps(plain, sort_keys=True, default=str)
