"""Gradients of the loss by every attention weight, map by map, and what they say about separators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import DataError, ModelError
from headatlas.models import capture
from headatlas.models.groups import Group
from headatlas.models.language_head import language_head
from headatlas.models.model import Layer
from headatlas.stages.probe.losses import Loss, loss_of, total_loss
from headatlas.stages.probe.source import Source

DRAWS = 1000  # of the bootstrap over heads


def network_and_loss(source: Source) -> tuple[Any, Loss]:
    """The network to run, with its own head where it has one, and its loss; found once."""

    def find() -> tuple[Any, Loss]:
        head = language_head(source.model)
        loss = loss_of(head, source.model)
        if loss is None:
            raise DataError(
                f"{source.model.name} has no loss: neither a head for tokens, nor a mask token to hide some of them"
            )
        return (source.model.network if head is None else head.network), loss

    result: tuple[Any, Loss] = source.once("loss", find)
    return result


def gradients(source: Source, group: Group, numbers: Sequence[int], seed: int) -> dict[int, tuple[Tensor, Tensor]]:
    """For each layer its maps (example, head, query, key) and the gradients of the loss by their weights."""
    model = source.model
    network, loss = network_and_loss(source)
    maps: dict[int, Tensor] = {}
    calls = count()  # of the forward pass with gradients: the loss may need another one without

    def see(_: int, call: capture.Call) -> capture.Attended:
        output, weights = call.eager()
        layer = model.layer_of_call.get(next(calls)) if torch.is_grad_enabled() else None
        if layer is not None and weights is not None:
            maps[layer] = weights
        return output, weights

    with torch.enable_grad(), capture.seeing(see):
        total = total_loss(network, loss, model, group, numbers, seed)
    if not total.requires_grad:
        raise ModelError(f"the weights of {model.name} are frozen, so there are no gradients: call requires_grad_()")
    slopes = torch.autograd.grad(total, list(maps.values()))
    return {
        layer: (weights.detach(), gradient) for (layer, weights), gradient in zip(maps.items(), slopes, strict=True)
    }


def map_rows(source: Source, numbers: list[int], seed: int) -> Iterator[dict[str, Any]]:
    """For every map the mean size of the gradient by weights on separators, on the first token and on others."""
    for group in source.batches(numbers):
        chosen = [numbers[place] for place in group.places]
        by_layer = gradients(source, group, chosen, seed)
        for place, example in enumerate(group.encoded):
            for layer in source.model.layers:
                queries, keys = group.batch.extent(place, layer.kind)
                maps, slopes = (each[place, :, :queries, :keys].numpy() for each in by_layer[layer.index])
                special = np.asarray(example.source.special, bool)
                yield from layer_rows(chosen[place], layer, maps, np.abs(slopes), special)


def layer_rows(
    number: int, layer: Layer, maps: NDArray[Any], sizes: NDArray[Any], special: NDArray[np.bool_]
) -> Iterator[dict[str, Any]]:
    """The numbers of every map of one example in one layer; those of keys that a text does not have are unknown."""
    first = np.arange(len(special)) == 0
    kinds = {"first": first, "separators": special & ~first, "others": ~special & ~first}
    for head, (weights, size) in enumerate(zip(maps, sizes, strict=True)):
        allowed = weights > 0  # a causal layer gives no weight to what comes later
        row: dict[str, Any] = {"example": number, "layer": layer.index, "head": head}
        for kind, keys in kinds.items():
            cells = allowed & keys
            row[f"to_{kind}"] = float(size[cells].mean()) if cells.any() else None
        row["attention"] = float(weights[:, kinds["separators"]].sum(1).mean()) if kinds["separators"].any() else None
        to, others = row["to_separators"], row["to_others"]
        yield row | {"relative": to / others if to is not None and others else None}


def parking(attention: NDArray[np.float64], relative: NDArray[np.float64], seed: int) -> dict[str, float] | None:
    """Whether heads that attend more to separators have smaller gradients there, by rank over heads.

    None with fewer than three heads for which both are known.
    """
    from scipy.stats import spearmanr

    from headatlas.numeric.metrics import interval

    known = np.isfinite(attention) & np.isfinite(relative)
    a, b = attention[known], relative[known]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    rng = np.random.default_rng(seed)
    draws = [rng.integers(0, len(a), len(a)) for _ in range(DRAWS)]
    drawn = np.array([spearmanr(a[draw], b[draw]).statistic for draw in draws if np.ptp(a[draw]) and np.ptp(b[draw])])
    low, high = interval(drawn)
    return {"rank": float(spearmanr(a, b).statistic), "low": float(low), "high": float(high), "heads": len(a)}
