"""The same architecture with random weights: what a model shows before it has learned anything."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from headatlas.errors import ModelError, OptionError
from headatlas.models import projections
from headatlas.models.load import load, output_size, quiet, redirect
from headatlas.models.model import Model
from headatlas.models.survey import survey

MOST_PARAMETERS = 1_000_000_000  # both networks are in memory at once, in float32

Refusal = Literal["quantized", "parameters"]


def untrained(model: Model | str | Path, seed: int = 0) -> Model:
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
    if seed < 0:
        raise OptionError(f"seed {seed}: it cannot be negative")
    model = model if isinstance(model, Model) else load(model)
    reason = refusal(model)
    if reason is not None:
        raise ModelError(f"{model.name} cannot be made without training: {_REFUSALS[reason].format(_size(model))}")
    network = _random_network(model, seed)
    with quiet():
        result = survey(network, model.modality, output_size(model.processor) if model.processor else None)
    return replace(
        model,
        name=f"{model.name} (untrained, seed {seed})",
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
    """Why a model cannot be made without training; None if it can."""
    network: Any = model.network
    quantized = getattr(network, "is_quantized", False) or getattr(network.config, "quantization_config", None)
    if quantized or not all(weight.is_floating_point() for weight in network.parameters()):
        return "quantized"
    return "parameters" if _size(model) > MOST_PARAMETERS else None


_REFUSALS: dict[Refusal, str] = {
    "quantized": "its weights are quantized, which random ones are not. Use the model before quantization",
    "parameters": f"it has {{:,}} parameters, and at most {MOST_PARAMETERS:,} are drawn. Use a smaller model",
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
