"""Questions of a dataset with their passages and gold answers, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headatlas.data import Dataset, Example
from headatlas.data.dataset import clean
from headatlas.errors import DataError, OptionError

NAMED = 20  # ids that are recorded of questions with a problem


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the passage it is asked of, its gold answers, and where the first of them begins."""

    id: str
    text: str
    passage: str
    answers: tuple[str, ...]
    start: int | None = None

    @property
    def example(self) -> Example:
        """What a model reads."""
        return Example(self.id, text=self.text, pair=self.passage)


@dataclass(frozen=True)
class Questions:
    """The questions of a dataset, in its order, and the ids of those that no model can read."""

    listed: Sequence[Question]
    unread: tuple[str, ...] = ()

    @cached_property
    def golds(self) -> dict[str, tuple[str, ...]]:
        """The gold answers by id; of questions with the same id, those of the last one, as in the official script."""
        return {question.id: question.answers for question in self.listed}

    @property
    def repeated(self) -> list[str]:
        """Ids that several questions have."""
        return [name for name, count in Counter(question.id for question in self.listed).items() if count > 1]

    @property
    def misplaced(self) -> list[str]:
        """Questions whose first answer is not where it is said to be."""
        return [question.id for question in self.listed if question.answers and _is_misplaced(question)]

    @property
    def all_answerable(self) -> bool:
        """Whether every question has an answer, as in SQuAD v1.1."""
        return all(question.answers for question in self.listed)

    @cached_property
    def passages(self) -> list[int]:
        """The number of the passage of each question."""
        numbers: dict[str, int] = {}
        return [numbers.setdefault(question.passage, len(numbers)) for question in self.listed]

    def drawn(self, limit: int | None, seed: int) -> Questions:
        """As many questions drawn at random, in their order; all if there are no more."""
        if limit is not None and limit < 1:
            raise OptionError(f"limit {limit}: at least 1 question is needed")
        if limit is None or limit >= len(self.listed):
            return self
        chosen = np.sort(np.random.default_rng(seed).permutation(len(self.listed))[:limit])
        return Questions([self.listed[number] for number in chosen])


def read_questions(dataset: Dataset) -> Questions:
    """The questions of a dataset; raises DataError if it holds something else."""
    listed = [_question(dataset, example) for example in dataset]
    return Questions(listed, tuple(skipped.id for skipped in dataset.skipped))


def gold_characters(passage: str, answer: str | None, start: Any) -> tuple[int, int] | None:
    """The first character of a gold answer and the one after its last; None if it is not at its offset.

    >>> gold_characters("A ship of oak", "ship", 2), gold_characters("A ship of oak", "ship", 3)
    ((2, 6), None)
    """
    if not answer or not isinstance(start, int) or start < 0 or passage[start : start + len(answer)] != answer:
        return None
    return start, start + len(answer)


def _question(dataset: Dataset, example: Example) -> Question:
    answers, start = example.columns.get("answers"), example.columns.get("answer_start")
    texts = isinstance(answers, list) and all(isinstance(answer, str) for answer in answers)
    if example.text is None or example.pair is None or not isinstance(answers, list) or not texts:
        raise DataError(
            f"{dataset.name} holds no questions with passages and answers (example {example.id}): "
            "use squad:FILE or sample:questions"
        )
    first = start if isinstance(start, int) else None
    return Question(clean(example.id), example.text, example.pair, tuple(answers), first)


def _is_misplaced(question: Question) -> bool:
    return gold_characters(question.passage, question.answers[0], question.start) is None
