"""What gradients are of: the loss of a model on texts, by its own head, or by the direction of its pooled output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headatlas.models.capture import flags
from headatlas.models.encode import Encoded
from headatlas.models.groups import Group
from headatlas.models.language_head import LanguageHead
from headatlas.models.model import Model

Loss = Literal["next", "masked", "pooled"]
MASKED = 0.15  # share of the tokens of a text, at least one


def loss_of(head: LanguageHead | None, model: Model) -> Loss | None:
    """The loss that a model has; None if it has no head, and no token to mask others with."""
    masks = model.tokenizer is not None and model.tokenizer.mask_token_id is not None
    if head is not None:
        return head.predicts if head.predicts == "next" or masks else None
    return "pooled" if masks and not model.encoder_decoder and model.grid is None else None


def total_loss(network: Any, loss: Loss, model: Model, group: Group, numbers: Sequence[int], seed: int) -> Tensor:
    """The sum over texts of the mean loss of each, so that the gradient of a text does not depend on its batch."""
    inputs = dict(group.batch.inputs)
    ids, attended = inputs["input_ids"], inputs["attention_mask"].bool()
    if loss == "next":
        scores = network(**inputs, **flags(network)).logits[:, :-1]
        return _mean_by_text(scores, ids[:, 1:], attended[:, 1:])
    masked = torch.stack([
        _masked(example, number, ids.shape[1], seed) for example, number in zip(group.encoded, numbers, strict=True)
    ])  # fmt: skip
    hidden = inputs | {"input_ids": torch.where(masked, model.tokenizer.mask_token_id, ids)}
    if loss == "masked":
        return _mean_by_text(network(**hidden, **flags(network)).logits, ids, masked)
    with torch.no_grad():
        whole = _pooled(network, inputs, attended)
    return (1 - functional.cosine_similarity(_pooled(network, hidden, attended), whole)).sum()


def _mean_by_text(scores: Tensor, ids: Tensor, counted: Tensor) -> Tensor:
    """The sum over texts of the mean cross-entropy of the tokens that count."""
    entropy = functional.cross_entropy(scores.transpose(1, 2), ids, reduction="none")
    total: Tensor = ((entropy * counted).sum(1) / counted.sum(1).clamp(min=1)).sum()
    return total


def _masked(example: Encoded, number: int, length: int, seed: int) -> Tensor:
    """Which tokens of a text are masked, drawn with the seed and the number of the example."""
    inner = np.flatnonzero(~np.asarray(example.source.special, bool))
    drawn = np.random.default_rng([seed, number]).permutation(inner)[: max(1, round(MASKED * len(inner)))]
    mask = torch.zeros(length, dtype=torch.bool)
    mask[torch.from_numpy(drawn)] = True
    return mask


def _pooled(network: Any, inputs: dict[str, Tensor], attended: Tensor) -> Tensor:
    """The mean of the last hidden states over the tokens of each text."""
    states = network(**inputs, **flags(network)).last_hidden_state
    pooled: Tensor = (states * attended[..., None]).sum(1) / attended.sum(1, keepdim=True)
    return pooled
