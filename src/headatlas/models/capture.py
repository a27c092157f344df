"""Observe every attention call of a forward pass.

transformers dispatches attention through a registry. headatlas registers a function that passes each call to a
*watcher*; without a watcher it does what the model's eager attention does. Families that do not use the registry are
run with `output_attentions` instead, and the watcher receives the finished maps.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from headatlas.models.model import Layer, Model

IMPLEMENTATION = "headatlas"
OUTPUTS = ("encoder_attentions", "decoder_attentions", "cross_attentions", "attentions")

Attended = tuple[Tensor, Tensor | None]


@dataclass(slots=True)
class Call:
    """One attention call: query, key and value after rotary embedding, the additive mask, and extra arguments."""

    module: torch.nn.Module
    query: Tensor  # (example, head, query, feature)
    key: Tensor  # (example, key head, key, feature)
    value: Tensor  # (example, key head, key, feature)
    mask: Tensor | None  # (example, 1, query, key), 0 or very negative
    scaling: float | None
    extras: dict[str, Any]

    def eager(self) -> Attended:
        """The eager attention of the family: output (example, query, head, feature) and the maps."""
        eager_forward = sys.modules[type(self.module).__module__].eager_attention_forward
        result: Attended = eager_forward(
            self.module, self.query, self.key, self.value, self.mask, scaling=self.scaling, dropout=0.0, **self.extras
        )
        return result


class Watcher(Protocol):
    """Handles the attention of a forward pass."""

    def call(self, layer: Layer, call: Call) -> Attended:
        """Compute the attention in place of the model; the weights may be None."""

    def map(self, layer: Layer, weights: Tensor) -> None:
        """Handle finished maps (example, head, query, key) of a family outside the registry."""

    def vectors(self, layer: Layer, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Handle vectors (example, head, token, feature) of a family outside the registry."""


class _Session(threading.local):
    """What handles the attention calls of this thread: a function of the number of the call and the call."""

    see: Callable[[int, Call], Attended] | None = None
    calls: int = 0


_session = _Session()


def _attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> Attended:
    call = Call(module, query, key, value, attention_mask, scaling, kwargs)
    if _session.see is None:
        return call.eager()
    _session.calls += 1
    return _session.see(_session.calls - 1, call)


AttentionInterface.register(IMPLEMENTATION, _attend)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)  # without it no mask is built


@contextmanager
def seeing(see: Callable[[int, Call], Attended]) -> Iterator[_Session]:
    """Within this block, every attention call of this thread goes to `see(number, call)`."""
    _session.see, _session.calls = see, 0
    try:
        yield _session
    finally:
        _session.see = None


def run(model: Model, inputs: Mapping[str, Tensor], watcher: Watcher) -> Any:
    """Run one forward pass and pass each readable layer to the watcher; returns what the network returns."""
    with torch.inference_mode():
        if model.route == "registry":
            return _run_registry(model, inputs, watcher)
        return _run_outputs(model, inputs, watcher)


def _run_registry(model: Model, inputs: Mapping[str, Tensor], watcher: Watcher) -> Any:
    def see(number: int, call: Call) -> Attended:
        index = model.layer_of_call.get(number)
        return call.eager() if index is None else watcher.call(model.layers[index], call)

    with seeing(see):
        return model.network(**inputs, **flags(model.network))


def _run_outputs(model: Model, inputs: Mapping[str, Tensor], watcher: Watcher) -> Any:
    with model._projections.reading(watcher) if model._projections else _nothing():
        output = _with_maps(model.network, inputs)
    weights = _maps(output)
    for number, index in model.layer_of_call.items():
        watcher.map(model.layers[index], weights[number])
    return output


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def all_maps(network: torch.nn.Module, inputs: Mapping[str, Tensor]) -> list[Tensor]:
    """Every map that `output_attentions` returns: encoder, decoder, cross, in this order."""
    return _maps(_with_maps(network, inputs))


def _with_maps(network: torch.nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    return network(**inputs, **flags(network), output_attentions=True)


def _maps(output: Any) -> list[Tensor]:
    return [weights for name in OUTPUTS for weights in (output.get(name) or ()) if weights is not None]


def flags(network: torch.nn.Module) -> dict[str, bool]:
    """Arguments that switch off what a forward pass need not compute."""
    return {"use_cache": False} if getattr(network.config, "use_cache", None) is not None else {}


class Record:
    """The watcher that keeps everything: full maps and, on request, vectors, with one entry per layer."""

    def __init__(self, *, maps: bool = True, vectors: bool = False) -> None:
        self.keep_maps, self.keep_vectors = maps, vectors
        self.maps: dict[int, Tensor] = {}
        self.queries: dict[int, Tensor] = {}
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def call(self, layer: Layer, call: Call) -> Attended:
        """Keep the maps and vectors of the model's eager attention."""
        output, weights = call.eager()
        if self.keep_maps and weights is not None:
            self.map(layer, weights)
        if self.keep_vectors:
            self.vectors(layer, call.query, call.key, call.value)
        return output, weights

    def map(self, layer: Layer, weights: Tensor) -> None:
        """Keep the maps of one layer."""
        if self.keep_maps:
            self.maps[layer.index] = weights

    def vectors(self, layer: Layer, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Keep the vectors of one layer."""
        if self.keep_vectors:
            self.queries[layer.index], self.keys[layer.index], self.values[layer.index] = query, key, value
