"""What heads write: the part of each layer's output projection that belongs to each head.

No table of family names: in a trial forward pass, the projection of a layer is the module whose input is the output of
that layer's attention.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import Batch
from headatlas.models.model import Layer, Model


@dataclass(frozen=True)
class OutputWeights:
    """The output projection of one layer, cut into its heads."""

    weight: Tensor  # (head, feature, hidden)
    bias: Tensor | None  # (hidden,)
    module: str

    def value_norms(self, values: Tensor) -> Tensor:
        """Norms ‖v W‖ (head, key) of values (key head, key, feature): what a weight of 1 on a key would write."""
        heads, shared = len(self.weight), len(values)
        spread = values.repeat_interleave(heads // shared, 0)  # query heads share the values of a key head
        norms: Tensor = torch.linalg.vector_norm(torch.einsum("hkf,hfo->hko", spread.float(), self.weight), dim=-1)
        return norms


class _Outputs(capture.Record):
    """Keeps the output of the attention of each layer, (example, query, head · feature)."""

    def __init__(self) -> None:
        super().__init__(maps=False)
        self.outputs: dict[int, Tensor] = {}

    def call(self, layer: Layer, call: capture.Call) -> capture.Attended:
        output, weights = super().call(layer, call)
        self.outputs[layer.index] = output.reshape(*output.shape[:2], -1).clone()
        return output, weights


def output_weights(model: Model, trial: Batch) -> list[OutputWeights]:
    """The output projection of every layer, found by a forward pass with `trial`."""
    if model.route != "registry":
        raise ModelError(
            f"what the heads of {model.family} write cannot be read: its attention is outside the registry"
        )
    inputs: dict[str, Tensor] = {}
    modules = {name: module for name, module in model.network.named_modules() if is_projection(module)}
    hooks = [module.register_forward_pre_hook(_keep(inputs, name)) for name, module in modules.items()]
    record = _Outputs()
    try:
        capture.run(model, trial.inputs, record)
    finally:
        for hook in hooks:
            hook.remove()
    return [_found(model, layer, record.outputs[layer.index], inputs, modules) for layer in model.layers]


def is_projection(module: nn.Module) -> bool:
    """Whether a module has a matrix of weights that is multiplied with its input."""
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.ndim == 2 and not isinstance(module, nn.Embedding)


def _keep(inputs: dict[str, Tensor], name: str) -> Any:
    """A hook that keeps the input of a module."""

    @of_thread
    def hook(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if arguments and isinstance(arguments[0], Tensor):
            inputs[name] = arguments[0].clone()

    return hook


def of_thread(hook: Any) -> Any:
    """A hook that does nothing in other threads, which may run the same network meanwhile."""
    thread = threading.get_ident()

    def here(*arguments: Any) -> None:
        if threading.get_ident() == thread:
            hook(*arguments)

    return here


def _found(
    model: Model, layer: Layer, output: Tensor, inputs: dict[str, Tensor], modules: dict[str, nn.Module]
) -> OutputWeights:
    for name, given in inputs.items():
        if given.numel() == output.numel() and torch.equal(given.reshape(output.shape), output):
            return _cut(modules[name], layer, output.shape[-1], name)
    raise ModelError(
        f"what the heads of layer {layer.index} of {model.name} write cannot be read: its attention is not followed by "
        "an output projection of the usual form"
    )


def _cut(module: nn.Module, layer: Layer, width: int, name: str) -> OutputWeights:
    """The weights of a projection by head."""
    bias: Any = getattr(module, "bias", None)
    return OutputWeights(
        weight_by_input(module).reshape(layer.heads, width // layer.heads, -1).contiguous(),
        None if bias is None else bias.detach().float(),
        name,
    )


def weight_by_input(module: nn.Module) -> Tensor:
    """The weight (input, output) of a projection; `Conv1D` of transformers stores it this way, others do not."""
    stored: Any = module.weight
    weight: Tensor = stored.detach().float()
    return weight if type(module).__name__ == "Conv1D" else weight.T
