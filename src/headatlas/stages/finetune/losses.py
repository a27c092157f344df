"""The loss of questions, which does not depend on how far a batch is padded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

TARGETS = ("start_positions", "end_positions")


def loss_and_outputs(network: Any, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Any]:
    """The loss of a batch, and what the network returned: its own loss, but for questions."""
    if not asks(inputs):
        outputs = network(**inputs)
        return outputs.loss, outputs
    outputs = network(**{name: tensor for name, tensor in inputs.items() if name not in TARGETS})
    logits = (outputs.start_logits, outputs.end_logits)
    losses = [
        _loss(scores, inputs["attention_mask"], inputs[name]) for scores, name in zip(logits, TARGETS, strict=True)
    ]
    return (losses[0] + losses[1]) / 2, outputs


def asks(inputs: Mapping[str, Tensor]) -> bool:
    """Whether a batch holds questions."""
    return set(TARGETS) <= set(inputs)


def _loss(logits: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    """Cross entropy over the tokens of each text; the loss of transformers also counts padding as possible answers."""
    logits = logits.float().masked_fill(mask == 0, float("-inf"))  # (example, token)
    return torch.nn.functional.cross_entropy(logits, target)
