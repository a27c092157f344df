"""The model with its own head for tokens, which predicts the next or the masked ones, where its files have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch

from headatlas.models.load import quiet, redirect
from headatlas.models.model import Model

Predicts = Literal["next", "masked"]
ARCHITECTURES: dict[str, Predicts] = {  # ends of the names of classes
    "ForCausalLM": "next", "LMHeadModel": "next", "ForMaskedLM": "masked", "ForPreTraining": "masked",
}  # fmt: skip


@dataclass(frozen=True)
class LanguageHead:
    """A network that ends in scores of tokens, and which tokens these are for."""

    network: Any
    predicts: Predicts


def predicts(model: Model) -> Predicts | None:
    """What a model predicts, by the name of the class that its configuration records; None without a head."""
    if model.encoder_decoder or model.grid is not None:
        return None
    config: Any = model.network.config
    return predicted(config.architectures or [type(model.network).__name__])


def predicted(architectures: list[str]) -> Predicts | None:
    """What the first of these classes predicts; None if it is no language model.

    >>> predicted(["GPT2LMHeadModel"]), predicted(["BertForMaskedLM"]), predicted(["BertModel"]), predicted([])
    ('next', 'masked', None, None)
    """
    name = architectures[0] if architectures else ""
    return next((kind for end, kind in ARCHITECTURES.items() if name.endswith(end)), None)


def language_head(model: Model) -> LanguageHead | None:
    """The model with its head; None if it has none, or if its files lack weights of it."""
    kind = predicts(model)
    if kind is None:
        return None
    network = model.network if _has_head(model.network) else _loaded(model, kind)
    return None if network is None else LanguageHead(network, kind)


def _has_head(network: Any) -> bool:
    """Whether a network in memory ends in scores of tokens."""
    return any(type(network).__name__.endswith(end) for end in ARCHITECTURES)


def _loaded(model: Model, kind: Predicts) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    if model.source is None:
        return None
    loader = AutoModelForCausalLM if kind == "next" else AutoModelForMaskedLM
    with quiet():
        network, report = loader.from_pretrained(
            model.source, use_safetensors=True, trust_remote_code=False, dtype=torch.float32,
            attn_implementation="eager", output_loading_info=True,
        )  # fmt: skip
        redirect(network)
    lacks = [name for name in report["missing_keys"] if "pooler" not in name]
    return None if lacks else network.eval()
