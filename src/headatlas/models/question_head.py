"""Networks that answer questions: whole, or only the head, which reads what the base model returned before."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headatlas.errors import ModelError
from headatlas.model_names import check_question_head, without_question_head
from headatlas.models.batch import pad_token
from headatlas.models.load import longest_text, pretrained, quiet, read_tokenizer, resolve
from headatlas.models.model import Model
from headatlas.models.survey import trial_inputs

LogitPair = tuple[Tensor, Tensor]  # of the first and of the last token of an answer, (example, token)


class QuestionHead:
    """The head of a network, run by the family's own code on outputs of its base model.

    Threads share a head: the outputs are those of the thread that calls.
    """

    def __init__(self, network: Any) -> None:
        self._outputs = _Outputs()
        setattr(network, network.base_model_prefix, self._outputs)  # the base model itself is released
        self.network = network

    def logits(self, inputs: Mapping[str, Tensor], output: Any) -> LogitPair:
        """The scores of each token, from the inputs of a forward pass and what the base model returned for them."""
        self._outputs.here.value = output
        try:
            with torch.inference_mode():
                return logit_pair(self.network(**inputs))
        finally:
            del self._outputs.here.value

    @property
    def hash(self) -> str:
        """Digest of its weights."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


class _Outputs(torch.nn.Module):
    """Stands in for a base model: returns what that returned before."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """The outputs of this thread."""
        return self.here.value


def logit_pair(output: Any) -> LogitPair:
    """The scores that a network returns."""
    return output.start_logits, output.end_logits


def read_question_head(name: str) -> QuestionHead:
    """The head of a model by its name."""
    source, label = resolve(name)
    return QuestionHead(read_question_network(source, label))


def read_question_network(source: str, label: str, **options: Any) -> Any:
    """A network from its files; one without a trained head is refused."""
    from transformers import AutoModelForQuestionAnswering

    check_question_head(source)
    with quiet():
        try:
            network, report = pretrained(AutoModelForQuestionAnswering, source, label, **options)
        except ModelError as error:
            if "Unrecognized configuration class" in str(error):
                raise ModelError(f"{label} is of a family without a network for question answering") from error
            raise
    lacks = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    if lacks:
        raise without_question_head(label, f"its files lack {lacks[0]}")
    if network.config.is_encoder_decoder:
        raise ModelError(f"{label} has an encoder and a decoder: evaluate a model that reads both texts as one")
    return network.eval()


def question_reader(network: Any, label: str, tokenizer: Any = None, source: str | None = None) -> Model:
    """A network as a model that reads questions; its attention is left alone, so it has no layers."""
    tokenizer = read_tokenizer(source, label, tokenizer)
    return Model(
        name=label, network=network, modality="text", family=network.config.model_type, route="outputs", layers=(),
        layer_of_call={}, max_tokens=longest_text(network.config, tokenizer), tokenizer=tokenizer, source=source,
        padding=_same_when_padded(network),
    )  # fmt: skip


def _same_when_padded(network: Any) -> bool:
    """Whether a text gets the same scores in a batch with a longer one."""
    alone = {name: values.to(network.device) for name, values in trial_inputs(network.config, "text", None).items()}
    pad = pad_token(network.config)
    padded = {}
    for name, values in alone.items():
        more = torch.full_like(values[:, :2], 0 if "mask" in name else pad)
        padded[name] = torch.cat([torch.cat([values, more], 1), torch.cat([values, values[:, :2]], 1)])
    with torch.no_grad():
        first, second = (logit_pair(network(**inputs)) for inputs in (alone, padded))
    length = first[0].shape[1]
    return all(torch.allclose(a[0], b[0, :length], atol=1e-4) for a, b in zip(first, second, strict=True))
