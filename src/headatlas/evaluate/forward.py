"""Answers of a whole network, without collecting its attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from headatlas import parallel
from headatlas.data import Window
from headatlas.evaluate.answers import Answers, merged
from headatlas.evaluate.candidates import WindowScores, group_scores
from headatlas.evaluate.gold import Question
from headatlas.models.encode import Encoded, encode
from headatlas.models.groups import Group, text_groups
from headatlas.models.model import Model
from headatlas.models.question_head import logit_pair
from headatlas.numeric.threads import single_thread

CHUNK = 256  # questions that are encoded and sorted by length together
BATCH_TOKENS = 2048  # in one forward pass


def network_answers(
    model: Model,
    questions: Sequence[Question],
    window: Window,
    advance: Callable[[int], object] = lambda questions: None,
) -> list[Answers | None]:
    """The answers to all questions, in order; None where a question and its passage have no tokens."""
    answers: list[Answers | None] = []
    for start in range(0, len(questions), CHUNK):
        chunk = questions[start : start + CHUNK]
        windows = [encode(model, question.example, window=window) for question in chunk]
        scores = iter(_scores(model, [part for parts in windows for part in parts]))
        for question, parts in zip(chunk, windows, strict=True):
            of_question = [next(scores) for _ in parts]
            answers.append(merged(of_question, question.passage) if of_question else None)
        advance(len(chunk))
    return answers


def _scores(model: Model, encoded: Sequence[Encoded]) -> list[WindowScores]:
    """The scores of windows, in order; each batch is computed by one core, so they do not depend on their number."""
    groups = list(text_groups(model, encoded, BATCH_TOKENS)) if encoded else []
    scores: dict[int, WindowScores] = {}
    device: Any = next(model.network.parameters()).device
    for part in parallel.run(partial(_forward, model), groups, threads=None if device.type == "cpu" else 1):
        scores |= part
    return [scores[place] for place in range(len(encoded))]


@single_thread()
def _forward(model: Model, group: Group) -> dict[int, WindowScores]:
    device: Any = next(model.network.parameters()).device
    with torch.no_grad():  # inference mode would leave tensors in the network that cannot be trained with
        inputs = {name: values.to(device) for name, values in group.batch.inputs.items()}
        logits = logit_pair(model.network(**inputs))
    return group_scores(group, logits, model.tokenizer)


@contextmanager
def evaluating(network: torch.nn.Module) -> Iterator[None]:
    """Within this block, a network does not drop anything at random; afterwards it is in the mode it was in."""
    training = [module for module in network.modules() if module.training]
    network.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
