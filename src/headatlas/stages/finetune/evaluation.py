"""The mean loss on a part of the data that was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headatlas.errors import DataError
from headatlas.stages.finetune.batches import Encoder, Feature, collate
from headatlas.stages.finetune.losses import loss_and_outputs

PART = 300  # items at most


def part(items: Sequence[Any], seed: int) -> list[Any]:
    """A random part of the items, in their order."""
    chosen = np.random.default_rng([seed, 4]).permutation(len(items))[:PART]
    return [items[number] for number in np.sort(chosen)]


def encoded(items: Sequence[Any], encode: Encoder[Any], seed: int) -> list[Feature]:
    """All windows of the items, by length."""
    seeds = (np.array([seed, 5, 0, number], np.uint32) for number in range(len(items)))
    features = [feature for item, draw in zip(items, seeds, strict=True) for feature in encode(item, draw)]
    if not features:
        raise DataError("the data to evaluate with fit into no window. Allow more tokens with --max-tokens")
    return sorted(features, key=len)


@torch.no_grad()
def mean_scores(network: Any, features: Sequence[Feature], batch: int, pad: int) -> dict[str, float]:
    """The mean loss over windows, or over tokens where each has a target; the accuracy of classes."""
    total = weight = correct = 0.0
    device = next(network.parameters()).device
    for start in range(0, len(features), batch):
        inputs = {name: tensor.to(device) for name, tensor in collate(features[start : start + batch], pad).items()}
        (loss, outputs), count = loss_and_outputs(network, inputs), predictions(inputs)
        total, weight = total + float(loss) * count, weight + count
        if _classes(inputs):
            correct += int((outputs.logits.argmax(-1) == inputs["labels"]).sum())
    scores = {"loss": total / weight}
    return scores | {"accuracy": correct / weight} if _classes(inputs) else scores


def _classes(inputs: Mapping[str, Tensor]) -> bool:
    """Whether there is one target for each text."""
    return "labels" in inputs and inputs["labels"].ndim == 1


def predictions(inputs: Mapping[str, Tensor]) -> int:
    """How many predictions the loss of a batch is the mean of; no token precedes the first, and it is never masked."""
    if "labels" not in inputs or _classes(inputs):
        return len(inputs["input_ids"])
    return int((inputs["labels"][:, 1:] != -100).sum())
