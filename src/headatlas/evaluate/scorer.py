"""The score of answers to SQuAD questions: the numbers of the official script for v2.0, with its keys.

Two rules differ from that script, where it reports a best score that no threshold gives: questions with the same
probability are taken together, and an answer of nothing but punctuation and articles counts as no answer throughout.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from headatlas.errors import DataError

ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
ROUNDING = 1e-9  # sums of F1 that differ by less are equal
NAMED = 5  # ids in an error

Golds = Mapping[str, Sequence[str]]  # the gold answers of each question by its id; none: it has no answer
Scores = dict[str, float]


def normalized(text: str) -> str:
    """An answer as it is compared: lower case, without punctuation and articles, single spaces.

    >>> normalized("The  Norman-French, a king's")
    'normanfrench kings'
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(WITHOUT_PUNCTUATION)).split())


def exact_of(gold: str, answer: str) -> float:
    """Whether two answers are the same, 1 or 0."""
    return float(normalized(gold) == normalized(answer))


def f1_of(gold: str, answer: str) -> float:
    """How far the words of two answers agree; an empty answer agrees only with an empty one.

    >>> f1_of("the red brick house", "a red house"), f1_of("", "house"), f1_of("", "the")
    (0.8, 0.0, 1.0)
    """
    expected, words = normalized(gold).split(), normalized(answer).split()
    if not expected or not words:
        return float(expected == words)
    same = sum((Counter(expected) & Counter(words)).values())
    if not same:
        return 0.0
    precision, recall = same / len(words), same / len(expected)
    return 2 * precision * recall / (precision + recall)


def answer_scores(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """Exact match and F1 of an answer, the best over the gold answers; without any, the right answer is empty."""
    texts = [gold for gold in golds if normalized(gold)] or [""]
    return max(exact_of(gold, answer) for gold in texts), max(f1_of(gold, answer) for gold in texts)


def score(
    golds: Golds,
    predictions: Mapping[str, str],
    no_answer: Mapping[str, float] | None = None,
    threshold: float = 1.0,
) -> Scores:
    """The numbers of the official script, in percent.

    >>> golds = {"q1": ["red house", "the house"], "q2": []}
    >>> score(golds, {"q1": "a house", "q2": "a boat"})
    {'exact': 50.0, 'f1': 50.0, 'total': 2, 'HasAns_exact': 100.0, 'HasAns_f1': 100.0, 'HasAns_total': 1, \
'NoAns_exact': 0.0, 'NoAns_f1': 0.0, 'NoAns_total': 1}
    >>> best = score(golds, {"q1": "a house", "q2": "a boat"}, {"q1": 0.2, "q2": 0.7})
    >>> best["best_exact"], best["best_exact_thresh"]
    (100.0, 0.2)

    Parameters
    ----------
    golds : mapping
        The gold answers of each question; an empty list if it has no answer.
    predictions : mapping
        The answer to each question, empty for "no answer". Questions without one are left out, as `unanswered` says.
    no_answer : mapping, optional
        The probability that each question has no answer; it adds the best scores over all thresholds.
    threshold : float
        An answer whose `no_answer` is above this counts as empty.

    Returns
    -------
    dict
    """
    questions = [name for name in golds if name in predictions]
    if not questions:
        raise _strangers(golds, predictions)
    both = {name: answer_scores(golds[name], predictions[name]) for name in questions}
    exact, f1 = ({name: pair[part] for name, pair in both.items()} for part in (0, 1))
    missing = [name for name in questions if no_answer is not None and name not in no_answer]
    if missing:
        what = f"{len(missing):,} questions have an answer but no probability of having none"
        raise DataError(f"{what}: {_named(missing)}")
    probability = dict.fromkeys(questions, 0.0) if no_answer is None else no_answer
    scores = _means(_cut(exact, golds, probability, threshold), _cut(f1, golds, probability, threshold), golds)
    return scores if no_answer is None else scores | best_scores(golds, predictions, no_answer)


def unanswered(golds: Golds, predictions: Mapping[str, str]) -> list[str]:
    """The questions without a prediction; the official script leaves them out of every number."""
    return [name for name in golds if name not in predictions]


def best_scores(golds: Golds, predictions: Mapping[str, str], no_answer: Mapping[str, float]) -> Scores:
    """The best scores over all thresholds of `no_answer`, and the least thresholds that give them."""
    both = {name: answer_scores(golds[name], predictions[name]) for name in golds if name in predictions}
    exact, exact_at = _best([(no_answer[name], pair[0], bool(golds[name])) for name, pair in both.items()])
    f1, f1_at = _best([(no_answer[name], pair[1], bool(golds[name])) for name, pair in both.items()])
    return {"best_exact": exact, "best_exact_thresh": exact_at, "best_f1": f1, "best_f1_thresh": f1_at}


def _best(rows: Sequence[tuple[float, float, bool]]) -> tuple[float, float]:
    """The best sum of scores in percent, and its threshold, from the probability, score and answerability of each."""
    current = best = float(sum(not answerable for _, _, answerable in rows))  # all answers are empty
    threshold = 0.0
    for probability, group in groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0]):
        current += sum(value - (not answerable) for _, value, answerable in group)
        if current > best + ROUNDING:
            best, threshold = current, probability
    return 100.0 * best / len(rows), threshold


def _cut(scores: Scores, golds: Golds, no_answer: Mapping[str, float], threshold: float) -> Scores:
    """Scores where answers above the threshold are empty."""
    return {name: float(not golds[name]) if no_answer[name] > threshold else value for name, value in scores.items()}


def _means(exact: Scores, f1: Scores, golds: Golds) -> Scores:
    means = _mean(exact, f1, exact, "")
    for prefix, answerable in (("HasAns_", True), ("NoAns_", False)):
        names = [name for name in exact if bool(golds[name]) is answerable]
        means |= _mean(exact, f1, names, prefix) if names else {}
    return means


def _mean(exact: Scores, f1: Scores, names: Collection[str], prefix: str) -> Scores:
    total = len(names)
    return {
        f"{prefix}exact": 100.0 * sum(exact[name] for name in names) / total,
        f"{prefix}f1": 100.0 * sum(f1[name] for name in names) / total,
        f"{prefix}total": total,
    }


def _strangers(golds: Golds, predictions: Mapping[str, str]) -> DataError:
    if not predictions:
        return DataError(f"there is no answer to any of the {len(golds):,} questions")
    return DataError(
        f"none of the {len(predictions):,} answers is to one of the {len(golds):,} questions: the ids of the answers "
        f"are {_named(list(predictions))}, those of the questions {_named(list(golds))}. Choose the file they belong to"
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
