"""Sentences on fine-tuning: what was read, what was left out, and how training went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headatlas.wording.numbers import amount, count, duration, many, percent

NAMED = 3  # ids that a line names


def left_out_line(unit: str, reason: str, ids: Sequence[str]) -> str:
    """How many items are left out for a reason, and the first of them.

    >>> left_out_line("question", "the text at answer_start is not the answer", ["a", "b", "c", "d"])
    '4 questions are left out: the text at answer_start is not the answer (a, b, c, …)'
    """
    verb = "is" if len(ids) == 1 else "are"
    named = ", ".join([*ids[:NAMED], *(["…"] if len(ids) > NAMED else [])])
    return f"{many(len(ids), unit)} {verb} left out: {reason} ({named})"


def negatives_line(questions: int, unanswerable: int, added: int, wanted: float) -> str:
    """How many unanswerable questions were made, and whether that was enough.

    >>> negatives_line(100, 33, 20, 0.33)
    '33 of 100 questions are unanswerable; 20 of them were made by changing a detail or by asking another passage'
    >>> negatives_line(100, 20, 5, 0.33)
    '20 of 100 questions are unanswerable; 5 of them were made by changing a detail or by asking another passage. \
33% were wanted, but no more can be made'
    """
    line = f"{count(unanswerable)} of {many(questions, 'question')} are unanswerable"
    line += f"; {count(added)} of them were made by changing a detail or by asking another passage" if added else ""
    short = unanswerable < wanted * questions - 0.5  # a whole number of them cannot be closer
    return f"{line}. {percent(wanted)} were wanted, but no more can be made" if short else line


def trained_line(name: str, steps: int, examples: int, unit: str, seconds: float, loss: float | None) -> str:
    """How training went.

    >>> trained_line("qa", 1200, 19200, "question", 1803, 1.234)
    'qa: 1,200 steps on 19,200 questions in 30 minutes, loss 1.2'
    """
    line = f"{name}: {many(steps, 'step')} on {many(examples, unit)} in {duration(seconds)}"
    return line if loss is None else f"{line}, loss {amount(loss)}"


def evaluated_line(row: Mapping[str, Any]) -> str:
    """The numbers of the last evaluation.

    >>> evaluated_line({"kind": "evaluation", "step": 40, "loss": 1.234, "accuracy": 0.8, "texts": 300, "seconds": 9.0})
    'evaluation: loss 1.2, accuracy 0.80, texts 300'
    """
    hidden = {"kind", "step", "seconds", "evaluation_seconds"}
    numbers = (f"{name} {_number(value)}" for name, value in row.items() if name not in hidden)
    return f"evaluation: {', '.join(numbers)}"


def _number(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return count(value)
    return amount(value) if isinstance(value, float) or value is None else str(value)
