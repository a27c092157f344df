"""Questions as a network is trained on them: windows, each with the token span of the answer in it."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.data import Example, Window
from headatlas.models.answer_spans import no_answer_token, token_span
from headatlas.models.encode import Tokens, encode
from headatlas.models.task_networks import TaskNetwork
from headatlas.stages.finetune.batches import Feature


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the passage it is asked of, and the characters of the answer in it; None if it has none."""

    id: str
    text: str
    context: str
    answer: tuple[int, int] | None
    title: str = ""


def question_features(model: TaskNetwork, question: Question, window: Window) -> list[Feature]:
    """One feature per window of the passage; none if the question leaves no room for the passage."""
    example = Example(question.id, text=question.text, pair=question.context)
    windows = encode(model, example, max_tokens=window.size, window=window)
    return [_feature(model, part.source, question.answer) for part in windows if not part.cut]


def _feature(model: TaskNetwork, tokens: Tokens, answer: tuple[int, int] | None) -> Feature:
    """The first and last token of the answer; where the window does not have it, the token for "no answer", twice."""
    span = token_span(tokens, *answer) if answer else None
    nothing = no_answer_token(tokens, model.tokenizer)
    first, last = span or (nothing, nothing)
    return Feature(
        tokens.ids, tokens.segment if model.types else None, {"start_positions": first, "end_positions": last}
    )
