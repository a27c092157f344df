"""LoRA: small matrices beside the weights are trained instead of the weights, and merged into them for saving."""

from __future__ import annotations

import copy
from typing import Any

import torch

from headatlas.models.task_networks import TaskNetwork

ALPHA = 2  # scale of the adapters, as a multiple of their rank
DROPOUT = 0.05


def with_adapters(model: TaskNetwork, rank: int) -> Any:
    """The network with adapters at every linear layer of its body; parts that are new are trained as a whole."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank,
        lora_alpha=ALPHA * rank,
        lora_dropout=DROPOUT,
        target_modules=_linear_layers(model.network),
        modules_to_save=sorted({name.split(".")[0] for name in model.new if not _in_body(model.network, name)}) or None,
    )
    return get_peft_model(model.network, config)


def merged(network: Any) -> Any:
    """A network without adapters: those it has are merged into a copy of it."""
    return copy.deepcopy(network).merge_and_unload() if hasattr(network, "merge_and_unload") else network


def _in_body(network: Any, name: str) -> bool:
    return name.startswith(f"{network.base_model_prefix}.")


def _linear_layers(network: Any) -> list[str]:
    from transformers.pytorch_utils import Conv1D

    kinds = (torch.nn.Linear, Conv1D)
    return [name for name, module in network.named_modules() if isinstance(module, kinds) and _in_body(network, name)]
