"""Scores of answers to questions in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headatlas.wording.numbers import UNKNOWN, count, interval, many

Facts = Mapping[str, Any]


def evaluation_line(facts: Facts) -> str:
    """How many questions, and the two scores.

    >>> evaluation_line({"questions": 11873, "exact": 72.964, "f1": 76.29})
    '11,873 questions, exact 73.0, f1 76.3'
    """
    return f"{many(facts['questions'], 'question')}, exact {_points(facts['exact'])}, f1 {_points(facts['f1'])}"


def lines(facts: Facts, scores: Sequence[Mapping[str, Any]]) -> list[str]:
    """The scores with their intervals, beside never answering, and what another threshold would give.

    >>> facts = {"questions": 4, "answerable": 3, "passages": 2, "threshold": 0.0, "f1": 50.0}
    >>> rows = [{"measure": name, "value": 50.0, "low": 25.0, "high": 75.0} for name in ("exact", "f1")]
    >>> for line in lines(facts | {"best_f1": 62.5, "best_f1_difference": -1.5}, rows):
    ...     print(line)
    Exact 50.0 [25.0, 75.0] and f1 50.0 [25.0, 75.0], with 95% intervals over 2 passages; always answering \
“no answer” scores 25.0 in both.
    With --threshold -1.5, chosen on these same questions, f1 would be 62.5.
    """
    rows = {row["measure"]: row for row in scores}
    values = {name: interval(row["value"], row["low"], row["high"], _points) for name, row in rows.items()}
    known = "with 95% intervals over" if rows["f1"]["low"] is not None else "of"
    both = f"Exact {values['exact']} and f1 {values['f1']}, {known} {many(facts['passages'], 'passage')}"
    return [f"{both}; {_silence(facts)}.", *_threshold(facts)]


def _points(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _silence(facts: Facts) -> str:
    """What is scored without a model."""
    without = facts["questions"] - facts["answerable"]
    return f"always answering “no answer” scores {_points(100 * without / facts['questions'])} in both"


def _threshold(facts: Facts) -> list[str]:
    if facts["threshold"] is None:
        return ["Every question was answered, as in SQuAD v1.1: none of these questions is without an answer."]
    if facts["best_f1"] <= facts["f1"] + 0.05:
        return []
    best, difference = _points(facts["best_f1"]), facts["best_f1_difference"]
    if difference is None:
        return [f"Its answers lower the score: without any, f1 would be {best}."]
    return [f"With --threshold {difference:.4g}, chosen on these same questions, f1 would be {best}."]


def problem_lines(facts: Facts) -> list[str]:
    """What is wrong with some questions, and how they are scored.

    >>> facts = {"missing": 2, "missing_named": ["a", "b"], "repeated": 0, "misplaced": 0}
    >>> problem_lines(facts)
    ['2 questions that cannot be read, left out of every score: a, b']
    """
    endings = {
        "missing": "that cannot be read, left out of every score",
        "repeated": "with the id of a later one, which counts instead, as in the official script",
        "misplaced": "whose answer is not at its offset: scored by its text, without a place among the tokens",
    }
    return [
        f"{many(facts[name], 'question')} {ending}: {_named(facts[f'{name}_named'], facts[name])}"
        for name, ending in endings.items()
        if facts[name]
    ]


def _named(names: Sequence[str], total: int, most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {count(total - most)} more" if total > most else "")
