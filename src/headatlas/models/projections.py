"""Queries, keys and values of families outside the registry, read from the outputs of their projections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headatlas.models.capture import Watcher
from headatlas.models.model import Layer

PARTS = (
    ("q", "query", "query_proj", "q_proj"),
    ("k", "key", "key_proj", "k_proj"),
    ("v", "value", "value_proj", "v_proj"),
)
FUSED = {"bloom": "query_key_value"}  # one projection, laid out as (head, 3, feature)


class Projections:
    """Forward hooks on the projections of each layer; inactive unless a watcher reads in the same thread."""

    def __init__(self, layers: tuple[Layer, ...], modules: list[tuple[nn.Module, ...]]) -> None:
        self._reading = threading.local()
        for layer, parts in zip(layers, modules, strict=True):
            for part, module in enumerate(parts):
                module.register_forward_hook(self._hook(layer, part, len(parts) == 1))

    @contextmanager
    def reading(self, watcher: Watcher) -> Iterator[None]:
        """Within this block, vectors of forward passes of this thread go to the watcher."""
        self._reading.watcher, self._reading.parts = watcher, {}
        try:
            yield
        finally:
            self._reading.watcher = None

    def _hook(self, layer: Layer, part: int, fused: bool) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Tensor) -> None:
            watcher = getattr(self._reading, "watcher", None)
            if watcher is None:
                return
            if fused:
                split = output.view(*output.shape[:-1], layer.heads, 3, -1)  # (example, token, head, part, feature)
                query, key, value = (split[..., i, :].transpose(1, 2) for i in range(3))
                watcher.vectors(layer, query, key, value)
                return
            parts = self._reading.parts.setdefault(layer.index, {})
            # a projection may be used again for position embeddings: its first use is for the tokens
            parts.setdefault(part, output.view(*output.shape[:-1], layer.heads, -1).transpose(1, 2))
            if part == 2 and len(parts) == 3:
                watcher.vectors(layer, *(parts[i] for i in range(3)))

        return hook


def find(network: Any, layers: tuple[Layer, ...]) -> Projections | None:
    """The projections of every layer, or None if they cannot be identified with certainty."""
    if any(layer.kind == "cross" for layer in layers):
        return None  # modules alternate between self and cross attention; layers do not
    fused = FUSED.get(network.config.model_type)
    projections: list[tuple[nn.Module, ...]] = []
    for _, module in network.named_modules():
        children = {name: child for name, child in module.named_children() if isinstance(child, torch.nn.Linear)}
        if fused and fused in children:
            projections.append((children[fused],))
            continue
        parts = [next((children[name] for name in names if name in children), None) for names in PARTS]
        if all(part is not None for part in parts):
            projections.append(tuple(part for part in parts if part is not None))
    return Projections(layers, projections) if len(projections) == len(layers) else None
