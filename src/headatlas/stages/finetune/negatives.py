"""Unanswerable questions made from answerable ones: a detail is changed, or another passage of the article asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headatlas.stages.finetune.altered_questions import Source, altered
from headatlas.stages.finetune.question_features import Question

CANDIDATES = 8  # passages drawn, of which the one that shares most words with the question is taken
WORD = re.compile(r"\w{3,}")


def with_negatives(questions: Sequence[Question], share: float, seed: int) -> tuple[list[Question], int]:
    """The questions and as many new unanswerable ones as reach the share, or as there are; and how many these are.

    Half of them have a changed detail, if they have one that can be changed; the rest are asked elsewhere.

    >>> asked = Question("q", "Who rang the bell?", "Morwenna rang the bell.", (0, 8), "Tides")
    >>> other = Question("r", "Who rowed?", "A man rowed past the bell.", (2, 5), "Tides")
    >>> questions, added = with_negatives([asked, other], 0.4, seed=0)
    >>> added, questions[2].answer
    (1, None)
    """
    answerable = [question for question in questions if question.answer is not None]
    missing = needed(len(answerable), len(questions) - len(answerable), share)
    if not missing:
        return list(questions), 0
    rng = np.random.default_rng([seed, 3])
    passages = _passages(questions)
    words = {context: _words(context) for contexts in passages.values() for context in contexts}
    made: list[Question] = []
    for number in rng.permutation(len(answerable)):
        if len(made) >= missing:
            break
        question = answerable[number]
        negative = _with_other_detail(question, passages[question.title], rng) if len(made) % 2 else None
        negative = negative or _elsewhere(question, passages[question.title], words, rng)
        made += [negative] if negative else []
    return [*questions, *made], len(made)


def needed(answerable: int, unanswerable: int, share: float) -> int:
    """How many unanswerable questions are to be added to reach a share.

    >>> needed(67, 0, 0.33), needed(67, 33, 0.33), needed(10, 0, 0.5)
    (33, 0, 10)
    """
    return max(0, round(share / (1 - share) * answerable) - unanswerable)


def _passages(questions: Sequence[Question]) -> dict[str, list[str]]:
    """The passages of each article, in the order of the file."""
    passages: dict[str, dict[str, None]] = {}
    for question in questions:
        passages.setdefault(question.title, {})[question.context] = None
    return {title: list(contexts) for title, contexts in passages.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.lower()))


def _with_other_detail(question: Question, passages: Sequence[str], rng: np.random.Generator) -> Question | None:
    """The question with a detail that its passage does not speak of, or speaks of otherwise."""
    others = [passages[number] for number in rng.permutation(len(passages))[:CANDIDATES]]
    text = altered(question.text, Source([question.context, *others], _answer(question)), rng)
    return replace(question, id=f"{question.id}-altered", text=text, answer=None) if text else None


def _elsewhere(
    question: Question, passages: Sequence[str], words: dict[str, frozenset[str]], rng: np.random.Generator
) -> Question | None:
    """Of some passages without the answer, the one that shares most words with the question: easy ones teach little."""
    answer = _answer(question).lower()
    drawn = (passages[number] for number in rng.permutation(len(passages))[: CANDIDATES + 1])
    others = [text for text in drawn if text != question.context and answer not in text.lower()][:CANDIDATES]
    wanted = _words(question.text)
    other = max(others, key=lambda text: len(words[text] & wanted), default=None)
    return replace(question, id=f"{question.id}-elsewhere", context=other, answer=None) if other else None


def _answer(question: Question) -> str:
    assert question.answer is not None  # negatives are made of answerable questions only
    return question.context[slice(*question.answer)]
