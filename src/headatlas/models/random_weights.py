"""The same architecture with random weights, or with its weights in random order: what is there without learning."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch

from headatlas.errors import ModelError, OptionError
from headatlas.models import projections
from headatlas.models.load import ModelLike, load, output_size, quiet, redirect
from headatlas.models.model import Model
from headatlas.models.survey import survey

MOST_PARAMETERS = 1_000_000_000  # both networks are in memory at once, in float32

Refusal = Literal["quantized", "parameters"]


def untrained(model: ModelLike, seed: int = 0) -> Model:
    """The same architecture with random weights, drawn as transformers does before training.

    Tokenizer or image processor, precision and limits are those of the model. The same seed gives the same weights.

    >>> from headatlas import models
    >>> print(models.untrained("packaged", seed=1))
    all-MiniLM-L6-v2 (untrained, seed 1) (bert): 6 encoder layers × 12 heads, 32 wide

    Parameters
    ----------
    model : Model, str or path
        A model, or what `models.load` takes.
    seed : int
        Random seed of the weights.

    Returns
    -------
    Model
        It exists only in this process. Models that are quantized, or have more than a billion parameters, are refused.
    """
    return _null_model(model, seed, "untrained", _random_network)


def permuted(model: ModelLike, seed: int = 0) -> Model:
    """The model with the entries of each weight matrix, bias and norm in random order, each within itself.

    Weights are as large as those of the trained model, but nothing that it has learned is left. Weights that are tied
    stay tied.

    >>> from headatlas import models
    >>> print(models.permuted("packaged", seed=1))
    all-MiniLM-L6-v2 (permuted, seed 1) (bert): 6 encoder layers × 12 heads, 32 wide

    Parameters
    ----------
    model : Model, str or path
        A model, or what `models.load` takes.
    seed : int
        Random seed of the order.

    Returns
    -------
    Model
        As for `untrained`.
    """
    return _null_model(model, seed, "permuted", _permuted_network)


def _null_model(model: ModelLike, seed: int, kind: str, make_network: Callable[[Model, int], Any]) -> Model:
    """The model with another network of the same architecture."""
    if seed < 0:
        raise OptionError(f"seed {seed}: it cannot be negative")
    model = load(model)
    reason = refusal(model)
    if reason is not None:
        raise ModelError(f"{model.name} has no {kind} model: {_REFUSALS[reason].format(_size(model))}")
    network = make_network(model, seed)
    with quiet():
        result = survey(network, model.modality, output_size(model.processor) if model.processor else None)
    return replace(
        model,
        name=f"{model.name} ({kind}, seed {seed})",
        network=network,
        route=result.route,
        layers=result.layers,
        layer_of_call=result.layer_of_call,
        source=None,
        revision=None,
        padding=result.padding,
        notes=result.notes,
        _projections=projections.find(network, result.layers) if result.route == "outputs" else None,
    )


def refusal(model: Model) -> Refusal | None:
    """Why a model cannot be given other weights; None if it can."""
    network: Any = model.network
    quantized = getattr(network, "is_quantized", False) or getattr(network.config, "quantization_config", None)
    if quantized or not all(weight.is_floating_point() for weight in network.parameters()):
        return "quantized"
    return "parameters" if _size(model) > MOST_PARAMETERS else None


_REFUSALS: dict[Refusal, str] = {
    "quantized": "its weights are quantized, and can be neither drawn nor shuffled. Use the model before quantization",
    "parameters": f"it has {{:,}} parameters; at most {MOST_PARAMETERS:,} are drawn or shuffled. Use a smaller model",
}


def _size(model: Model) -> int:
    return sum(weight.numel() for weight in model.network.parameters())


def _random_network(model: Model, seed: int) -> Any:
    """A new network of the same class and configuration; the random numbers of other code are left alone."""
    network: Any = model.network
    config = copy.deepcopy(network.config)
    config._attn_implementation = "eager"
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        fresh = type(network)(config)
    weight = next(network.parameters())
    fresh = fresh.to(device=weight.device, dtype=weight.dtype).eval()
    redirect(fresh)
    return fresh


def _permuted_network(model: Model, seed: int) -> Any:
    """A copy of the network with the entries of each parameter shuffled; a tied parameter is shuffled once."""
    network: Any = copy.deepcopy(model.network)
    rng = np.random.default_rng(seed)
    for weight in network.parameters():
        bits = weight.data.cpu().contiguous().view(_BITS[weight.element_size()])  # NumPy knows no bfloat16
        entries = bits.numpy().reshape(-1).copy()
        rng.shuffle(entries)
        weight.data.copy_(torch.from_numpy(entries).view(weight.dtype).reshape(weight.shape))
    redirect(network)
    return network


_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # whole numbers as wide as a weight
