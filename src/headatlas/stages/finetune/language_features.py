"""Texts as a language model is trained on them: windows with the tokens to predict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.data import Dataset, Example, Window
from headatlas.errors import ModelError
from headatlas.models.encode import Tokens, encode
from headatlas.models.language_head import predicted
from headatlas.models.task_networks import TaskNetwork
from headatlas.stages.finetune.batches import Encoder, Feature
from headatlas.stages.finetune.task import Items
from headatlas.wording.finetune import left_out_line

MASKED = 0.15  # share of the tokens that are to be predicted
REPLACED, RANDOM = 0.8, 0.1  # of these: shares that are masked, and that become another token; the rest stays
IGNORED = -100  # what losses ignore


def automatic(config: Any) -> str:
    """The automatic class: as the files say, else masked tokens if the family can predict them."""
    from transformers import AutoModelForMaskedLM

    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(f"{config.model_type} has an encoder and a decoder: only models with one of them are trained")
    masked = type(config) in AutoModelForMaskedLM._model_mapping
    kind = predicted(config.architectures or []) or ("masked" if masked else "next")
    return "AutoModelForMaskedLM" if kind == "masked" else "AutoModelForCausalLM"


def read_texts(datasets: Sequence[Dataset]) -> Items:
    """All texts, and how many could not be read."""
    texts: list[Example] = []
    left_out: dict[str, list[str]] = {}
    for dataset in datasets:
        texts.extend(dataset)
        for item in dataset.skipped:
            left_out.setdefault(item.reason, []).append(item.id)
    lines = tuple(left_out_line("text", reason, ids) for reason, ids in left_out.items())
    return Items(texts, {"texts": len(texts), "left_out": {key: len(ids) for key, ids in left_out.items()}}, lines)


def language_encoder(model: TaskNetwork, size: int) -> Encoder[Example]:
    """The function that turns a text into windows, with targets of the kind that the network predicts."""
    tokenizer = model.tokenizer
    if automatic(model.network.config) == "AutoModelForCausalLM":
        return partial(_windows, model, size, _next)
    if tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {model.name} has no mask token, so that no token can be masked")
    vocabulary = np.setdiff1d(np.arange(model.network.config.vocab_size), tokenizer.all_special_ids)
    return partial(_windows, model, size, partial(masked, mask=tokenizer.mask_token_id, vocabulary=vocabulary))


def _windows(model: TaskNetwork, size: int, targets: Any, example: Example, seed: NDArray[np.uint32]) -> list[Feature]:
    rng = np.random.default_rng(seed)
    features = []
    for part in encode(model, example, max_tokens=size, window=Window(size, 0)):
        tokens = part.source
        if len(tokens) > 1 and not tokens.special.all():
            ids, labels = targets(tokens, rng)
            features.append(Feature(ids, tokens.segment if model.types else None, {"labels": labels}))
    return features


def _next(tokens: Tokens, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Every token is predicted from those before it; the network shifts the targets."""
    return tokens.ids, tokens.ids.astype(np.int64)


def masked(
    tokens: Tokens, rng: np.random.Generator, mask: int, vocabulary: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Some tokens are masked, replaced or left as they are, and to be predicted; at least one, never special ones."""
    usual = np.flatnonzero(~tokens.special)
    chosen = rng.choice(usual, max(1, round(MASKED * len(usual))), replace=False)
    labels = np.full(len(tokens), IGNORED, np.int64)
    labels[chosen] = tokens.ids[chosen]
    ids, fate = tokens.ids.copy(), rng.random(len(chosen))
    ids[chosen[fate < REPLACED]] = mask
    other = chosen[(fate >= REPLACED) & (fate < REPLACED + RANDOM)]
    ids[other] = rng.choice(vocabulary, len(other))
    return ids, labels
