"""What heads read with: the parts of the projections of queries, keys and values that belong to each head.

As with what they write, no table of family names: in a trial forward pass, the projection of a layer is the module
whose output has the queries (keys, values) of its heads. Rotary embedding turns queries and keys at every position
but the first, so these are compared at the first, and by their norms at the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import Batch
from headatlas.models.model import Layer, Model
from headatlas.models.output_weights import is_projection, of_thread, output_weights, weight_by_input


@dataclass(frozen=True)
class HeadWeights:
    """The weights of the heads of one layer on the residual stream, in float64."""

    query: Tensor  # (head, hidden, feature)
    key: Tensor  # (head, hidden, feature); heads that share keys have the same
    value: Tensor  # (head, hidden, feature)
    output: Tensor  # (head, feature, hidden)
    norm: str | None  # the normalization before the projections, whose gain is part of the weights; None: none found


@dataclass(frozen=True)
class Seen:
    """A module with its input and output in the trial, (token, width)."""

    name: str
    module: Any
    given: Tensor
    made: Tensor


def head_weights(model: Model, trial: Batch) -> dict[int, HeadWeights]:
    """The weights of the heads of every layer of self-attention, found by a forward pass with one example."""
    outputs = output_weights(model, trial)
    record = capture.Record(maps=False, vectors=True)
    with watched(model.network) as seen:
        capture.run(model, trial.inputs, record)
    weights = {}
    for layer in model.layers:
        if layer.kind != "cross":
            output = outputs[layer.index].weight.double()
            weights[layer.index] = _layer_weights(model, layer, record, seen, output)
    return weights


def _layer_weights(model: Model, layer: Layer, record: capture.Record, seen: list[Seen], output: Tensor) -> HeadWeights:
    parts, norms = [], set()
    for vectors, turned in ((record.queries, True), (record.keys, True), (record.values, False)):
        each, columns = _source_of(model, layer, vectors[layer.index][0], seen, turned)
        norm = next((other for other in seen if is_norm(other, each.given)), None)
        weight = folded(weight_by_input(each.module).double(), norm.module if norm else None)
        parts.append(torch.stack([weight[:, start : start + layer.width] for start in columns]))
        norms.add(norm.name if norm else None)
    query, key, value = (part.repeat_interleave(layer.heads // len(part), 0) for part in parts)
    return HeadWeights(query, key, value, output, norms.pop() if len(norms) == 1 else None)


def _source_of(model: Model, layer: Layer, vectors: Tensor, seen: list[Seen], turned: bool) -> tuple[Seen, list[int]]:
    for each in seen:
        if is_projection(each.module) and (columns := columns_of(vectors, each.made, turned)):
            return each, columns
    raise ModelError(
        f"what the heads of layer {layer.index} of {model.name} read cannot be found: weights without a projection of "
        "the usual form"
    )


def columns_of(vectors: Tensor, made: Tensor, turned: bool) -> list[int] | None:
    """Where the vectors (head, token, feature) of each head are among the columns of made (token, width).

    >>> made = torch.arange(12.0).reshape(2, 6)
    >>> columns_of(torch.stack([made[:, 4:], made[:, 2:4]]), made, False)
    [4, 2]
    """
    tokens, width = vectors.shape[1:]
    if len(made) != tokens or made.shape[1] % width:
        return None
    blocks = made.reshape(tokens, -1, width).transpose(0, 1)  # (block, token, feature)
    same = _near(vectors[:, None, 0], blocks[:, 0]).all(-1)  # (head, block), at the first token
    if not same.any(1).all():
        return None
    block_of_head = same.int().argmax(1)
    chosen = blocks[block_of_head]
    if turned:
        vectors, chosen = vectors.norm(dim=-1), chosen.norm(dim=-1)
    return [int(block) * width for block in block_of_head] if _near(vectors, chosen).all() else None


def _near(first: Tensor, second: Tensor) -> Tensor:
    return torch.isclose(first, second, rtol=1e-4, atol=1e-5)


def folded(weight: Tensor, norm: Any) -> Tensor:
    """A weight (hidden, width) that takes what the normalization before it takes: its gain, and its centering.

    What depends on the input, the scale, is left out.
    """
    if norm is None:
        return weight
    weight = norm.weight.detach().double()[:, None] * weight
    return weight - weight.mean(0) if isinstance(norm, nn.LayerNorm) else weight


def is_norm(each: Seen, made: Tensor) -> bool:
    """Whether a module normalizes with its weight as the gain, and made this."""
    if getattr(each.module, "weight", torch.empty(0)).ndim != 1 or not _same(each.made, made):
        return False
    centered = each.given - each.given.mean(-1, keepdim=True) if isinstance(each.module, nn.LayerNorm) else each.given
    epsilon: Any = getattr(each.module, "eps", None) or getattr(each.module, "variance_epsilon", 0.0)
    scaled = centered / (centered.square().mean(-1, keepdim=True) + epsilon).sqrt() * each.module.weight
    bias: Any = getattr(each.module, "bias", None)
    shifted = scaled if bias is None else torch.add(scaled, bias)
    return torch.allclose(shifted, made, rtol=1e-4, atol=1e-5)


def _same(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.equal(first, second)


@contextmanager
def watched(network: nn.Module) -> Iterator[list[Seen]]:
    """The inputs and outputs of all modules with weights, in the order in which they are run by this thread."""
    seen: list[Seen] = []

    def hook(name: str) -> Any:
        @of_thread
        def keep(module: nn.Module, given: tuple[Any, ...], made: Any) -> None:
            if given and isinstance(given[0], Tensor) and isinstance(made, Tensor) and given[0].ndim > 1:
                seen.append(Seen(name, module, given[0].flatten(0, -2).clone(), made.flatten(0, -2).clone()))

        return keep

    modules = [pair for pair in network.named_modules() if isinstance(getattr(pair[1], "weight", None), Tensor)]
    hooks = [module.register_forward_hook(hook(name)) for name, module in modules]
    try:
        yield seen
    finally:
        for each in hooks:
            each.remove()
