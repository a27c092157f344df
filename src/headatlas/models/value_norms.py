"""Lengths of what values become after the output projection of each head.

The length of v W does not change if W is replaced by the triangular factor of its QR decomposition, which is no larger
than a head is wide: this costs a fraction of the projection itself and is as exact.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.models.batch import Batch
from headatlas.models.model import Layer, Model
from headatlas.models.output_weights import output_weights
from headatlas.models.survey import trial_inputs


@dataclass(frozen=True)
class ValueNorms:
    """What the values of each layer are measured with."""

    factors: tuple[Tensor, ...]  # of each layer (head, rank, feature)

    def lengths(self, layer: Layer, values: Tensor) -> NDArray[np.float64]:
        """Lengths ‖v W‖ (head, key) of values (key head, key, feature)."""
        spread = values.float().repeat_interleave(layer.heads // len(values), 0)  # heads share the values of a key head
        written = torch.einsum("hkf,hrf->hkr", spread, self.factors[layer.index])
        lengths: NDArray[np.float64] = torch.linalg.vector_norm(written, dim=-1).double().numpy()
        return lengths


_found: WeakKeyDictionary[Model, ValueNorms] = WeakKeyDictionary()
_finding = threading.Lock()


def value_norms(model: Model) -> ValueNorms:
    """What the values of a model are measured with, found by a forward pass at first use.

    An error says why it cannot be found.
    """
    with _finding:
        if model not in _found:
            weights = output_weights(model, Batch(_trial(model), [], []))
            _found[model] = ValueNorms(tuple(triangular(layer.weight) for layer in weights))
        return _found[model]


def triangular(weight: Tensor) -> Tensor:
    """A factor R (head, rank, feature) with ‖v W‖ = ‖R v‖ for weights W (head, feature, hidden).

    >>> weight = torch.tensor([[[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]])
    >>> round(float((triangular(weight)[0] @ torch.tensor([1.0, 1.0])).square().sum()), 4)
    29.0
    """
    factor: Tensor = torch.linalg.qr(weight.double().transpose(1, 2), mode="r").R
    return factor.float().contiguous()


def _trial(model: Model) -> dict[str, Tensor]:
    """A small input of the model."""
    if model.modality == "text":
        return trial_inputs(model.network.config, "text", None)
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    pixels: Any = model.processor(images=noise, return_tensors="pt")["pixel_values"]
    return {"pixel_values": pixels}
