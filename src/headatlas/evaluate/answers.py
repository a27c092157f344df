"""The answer to a question, from the candidates of all its windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headatlas.evaluate.candidates import MOST, Candidate, WindowScores

Threshold = float | None  # None: every question is answered


@dataclass(frozen=True, slots=True)
class Answers:
    """The best answers to a question, the best first, and the score of having none."""

    no_answer: float
    best: tuple[Candidate, ...]

    @property
    def difference(self) -> float:
        """The score of no answer less that of the best answer; infinite if there is no candidate."""
        return self.no_answer - self.best[0].score if self.best else math.inf

    @property
    def probability(self) -> float:
        """The probability of no answer, against the best answer.

        >>> Answers(1.0, (Candidate(0, 4, 1.0),)).probability, Answers(1.0, ()).probability
        (0.5, 1.0)
        """
        smaller = math.exp(-abs(self.difference))
        return (1 if self.difference >= 0 else smaller) / (1 + smaller)

    def is_empty(self, threshold: Threshold) -> bool:
        """Whether there is no answer: its score exceeds that of the best answer by more than the threshold."""
        return not self.best or (threshold is not None and self.difference > threshold)

    def ranked(self, threshold: Threshold) -> list[tuple[Candidate | None, float]]:
        """The candidates with their probabilities, no answer (None) among them unless every question is answered."""
        listed: list[tuple[Candidate | None, float]] = [(candidate, candidate.score) for candidate in self.best]
        if threshold is not None or not self.best:
            listed.append((None, self.no_answer))
        scores = np.array([score for _, score in listed])
        shares = np.exp(scores - scores.max())
        pairs = zip((candidate for candidate, _ in listed), (shares / shares.sum()).tolist(), strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])


def merged(windows: Sequence[WindowScores], passage: str) -> Answers:
    """The answers over all windows: a span keeps its best score, "no answer" its least.

    >>> first = WindowScores(3.0, [Candidate(0, 4, 1.0), Candidate(5, 8, 0.5)])
    >>> second = WindowScores(2.0, [Candidate(4, 8, 2.5)])
    >>> merged([first, second], "ship oak")
    Answers(no_answer=2.0, best=(Candidate(start=5, stop=8, score=2.5), Candidate(start=0, stop=4, score=1.0)))
    """
    best: dict[tuple[int, int], float] = {}
    for start, stop, score in _without_space((c for window in windows for c in window.candidates), passage):
        best[start, stop] = max(score, best.get((start, stop), -math.inf))
    candidates = [Candidate(*span, score) for span, score in best.items()]
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.start, candidate.stop))
    return Answers(min(window.no_answer for window in windows), tuple(ranked[:MOST]))


def _without_space(candidates: Iterable[Candidate], passage: str) -> Iterable[Candidate]:
    """Candidates without the space around them, which some tokenizers count as part of a token."""
    for start, stop, score in candidates:
        text = passage[start:stop]
        begin = start + len(text) - len(text.lstrip())
        yield Candidate(begin, begin + len(text.strip()), score)
