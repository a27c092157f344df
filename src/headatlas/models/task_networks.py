"""Networks with the head of a task, to be trained: from the files of a model, or with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from headatlas.errors import ModelError
from headatlas.model_names import without_weights
from headatlas.models.batch import pad_token, takes_types
from headatlas.models.load import longest_text, pretrained, quiet, read_tokenizer, resolve
from headatlas.models.random_weights import MOST_PARAMETERS

ALL = ("all weights",)  # parts of a network with random weights


@dataclass(frozen=True)
class TaskNetwork:
    """A network with its tokenizer. `new` names the parts whose weights are drawn at random."""

    name: str
    network: Any
    tokenizer: Any
    max_tokens: int
    new: tuple[str, ...] = ()
    encoder_decoder: bool = False  # a pair of texts is read by the encoder together

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(weight.numel() for weight in self.network.parameters())

    @property
    def pad(self) -> int:
        """The padding token."""
        return pad_token(self.network.config, self.tokenizer)

    @cached_property
    def types(self) -> bool:
        """Whether the network reads which of two texts a token belongs to."""
        return "token_type_ids" in self.tokenizer.model_input_names and takes_types(self.network)


def task_network(
    name: str, automatic: str, *, settings: Mapping[str, Any] | None = None, random: bool = False, seed: int = 0
) -> TaskNetwork:
    """The network of a model for a task.

    Parameters
    ----------
    name : str
        A hub name, a local folder, or `packaged`. A folder without weights gives random ones.
    automatic : str
        The automatic class of transformers, such as `AutoModelForQuestionAnswering`.
    settings : mapping, optional
        Settings of the configuration, such as the names of classes.
    random : bool
        Take the architecture with random weights.
    seed : int
        Random seed of the weights that are not read.

    Returns
    -------
    TaskNetwork
    """
    import transformers

    random = random or without_weights(name)
    source, label = resolve(name, weights=not random)
    loader = getattr(transformers, automatic)
    with quiet():
        config = read_config(source, label)
        _check_class(loader, config, label)
        for key, value in (settings or {}).items():
            setattr(config, key, value)
        if random:
            network, new = _random(loader, config, label, seed), ALL
        else:
            network, report = pretrained(loader, source, label, seed, config=config)
            new = tuple(sorted({part.rpartition(".")[0] or part for part in report["missing_keys"]}))
    tokenizer = read_tokenizer(source, label, None)
    return TaskNetwork(label, network, tokenizer, longest_text(config, tokenizer), new)


def read_config(source: str, label: str) -> Any:
    """The configuration of a model."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = " ".join(str(error).split())[:200]
        raise ModelError(f"the configuration of {label} cannot be read. transformers reports: {text}") from error


def dropout_settings(config: Any, share: float | None) -> dict[str, float]:
    """Every dropout that a configuration names, set to one share; nothing if none is given.

    >>> from transformers import GPT2Config
    >>> dropout_settings(GPT2Config(), 0.0)
    {'attn_pdrop': 0.0, 'embd_pdrop': 0.0, 'resid_pdrop': 0.0, 'summary_first_dropout': 0.0}
    """
    if share is None:
        return {}
    values = config.to_dict()
    names = sorted(name for name, value in values.items() if "drop" in name and isinstance(value, int | float | None))
    return dict.fromkeys((name for name in names if not isinstance(values[name], bool)), share)


def _check_class(loader: Any, config: Any, label: str) -> None:
    if type(config) not in loader._model_mapping:
        task = loader.__name__.removeprefix("AutoModelFor")
        raise ModelError(
            f"transformers has no {task} network of the family {config.model_type} ({label}): choose another"
        )


def _random(loader: Any, config: Any, label: str, seed: int) -> Any:
    """A network of this configuration with weights drawn as transformers does before training."""
    with torch.device("meta"):
        size = sum(weight.numel() for weight in loader.from_config(config).parameters())
    if size > MOST_PARAMETERS:
        raise ModelError(f"{label} has {size:,} parameters; at most {MOST_PARAMETERS:,} are drawn. Use a smaller model")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return loader.from_config(config)
