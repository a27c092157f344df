"""From what is written to the residual stream to scores of tokens: the last normalization and the unembedding.

Only where these two are all there is between the residual stream and the scores, as in models of the next token: heads
of masked models are not linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headatlas.models.batch import Batch
from headatlas.models.capture import flags
from headatlas.models.head_weights import folded, is_norm, watched
from headatlas.models.language_head import language_head
from headatlas.models.model import Model
from headatlas.models.output_weights import of_thread, weight_by_input


@dataclass(frozen=True)
class Unembedding:
    """What each token of the vocabulary reads from the residual stream, the scale of the normalization left out."""

    weight: Tensor  # (hidden, token): gain and centering included; a part that all tokens have in common is left out
    norm: Any  # the last normalization, a module of the network of the model

    def scale(self, stream: Tensor) -> Tensor:
        """What the normalization multiplies a residual stream (…, hidden) by, at its own size: (…)."""
        centered = stream - stream.mean(-1, keepdim=True) if isinstance(self.norm, nn.LayerNorm) else stream
        epsilon: Any = getattr(self.norm, "eps", None) or getattr(self.norm, "variance_epsilon", 0.0)
        scale: Tensor = (centered.square().mean(-1) + epsilon).rsqrt()
        return scale

    @contextmanager
    def reading(self) -> Iterator[list[Tensor]]:
        """The residual streams that reach the normalization in this thread, one for each forward pass."""
        streams: list[Tensor] = []

        @of_thread
        def keep(module: nn.Module, given: tuple[Tensor, ...]) -> None:
            streams.append(given[0].detach())

        hook = self.norm.register_forward_pre_hook(keep)
        try:
            yield streams
        finally:
            hook.remove()


def unembedding(model: Model, trial: Batch) -> Unembedding | None:
    """The unembedding of a model of the next token, found by a forward pass; None if it has none of this form."""
    head = language_head(model)
    if head is None or head.predicts != "next":
        return None
    output = head.network.get_output_embeddings()
    with torch.inference_mode(), watched(head.network) as seen:
        head.network(**trial.inputs, **flags(head.network))
    last = next((each for each in seen if each.module is output), None)
    norm = None if last is None else next((other for other in seen if is_norm(other, last.given)), None)
    if norm is None:
        return None
    weight = folded(weight_by_input(output).double(), norm.module)
    name = norm.name if head.network is model.network else norm.name.removeprefix(f"{head.network.base_model_prefix}.")
    centered = (weight - weight.mean(1, keepdim=True)).float()
    return Unembedding(centered, model.network.get_submodule(name))
