"""Questions with one detail changed, so that their passage no longer answers them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

NAME = re.compile(r"(?<=[\w,] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")  # within a sentence
NUMBER = re.compile(r"\b\d[\d,.]*\b")
OPPOSITES = """first last · before after · more less · most least · largest smallest · larger smaller · highest lowest ·
higher lower · oldest newest · earliest latest · north south · east west · northern southern · eastern western ·
begin end · began ended · increase decrease · increased decreased · above below · long short · always never · old new ·
won lost · many few · major minor · early late · left right · with without · inside outside · allowed forbidden ·
public private · strongest weakest · best worst · true false · maximum minimum · male female · accept reject ·
accepted rejected"""
OPPOSITE = {
    word: other for pair in (entry.split() for entry in OPPOSITES.split("·")) for word, other in (pair, reversed(pair))
}


@dataclass(frozen=True)
class Source:
    """What a detail can be changed to: the passage of the question, then others of its article, less the answer."""

    passages: Sequence[str]
    answer: str


def altered(question: str, source: Source, rng: np.random.Generator) -> str | None:
    """The question with another name, another number, or the opposite of a word; None if it has none of these.

    >>> rng = np.random.default_rng(0)
    >>> altered("Who rang it in 1841?", Source(["In 1839 the bell came; in 1841 Morwenna rang it."], "Morwenna"), rng)
    'Who rang it in 1839?'
    >>> altered("Who was the first keeper?", Source(["Morwenna was the first keeper."], "Morwenna"), rng)
    'Who was the last keeper?'
    """
    changes: list[Change] = [_other_name, _other_number, _opposite]
    for number in rng.permutation(len(changes)):
        text: str | None = changes[number](question, source, rng)
        if text is not None:
            return text
    return None


Change = Callable[[str, Source, np.random.Generator], str | None]


def _other_name(question: str, source: Source, rng: np.random.Generator) -> str | None:
    return _exchanged(question, NAME, source, lambda old, new: not set(old.split()) & set(new.split()), rng)


def _other_number(question: str, source: Source, rng: np.random.Generator) -> str | None:
    return _exchanged(question, NUMBER, source, lambda old, new: len(old) == len(new), rng)


def _opposite(question: str, source: Source, rng: np.random.Generator) -> str | None:
    words = [match for match in re.finditer(r"\w+", question) if match[0] in OPPOSITE]
    if not words:
        return None
    word = words[rng.integers(len(words))]
    return question[: word.start()] + OPPOSITE[word[0]] + question[word.end() :]


def _exchanged(
    question: str,
    kind: re.Pattern[str],
    source: Source,
    fits: Callable[[str, str], bool],
    rng: np.random.Generator,
) -> str | None:
    """One detail of a kind replaced by another of the same kind, from the nearest passage that has one."""
    details = list(kind.finditer(question))
    if not details:
        return None
    old = details[rng.integers(len(details))]
    for passage in source.passages:
        others = sorted({new for new in kind.findall(passage) if _differs(new, question, source) and fits(old[0], new)})
        if others:
            new: str = others[rng.integers(len(others))]
            return question[: old.start()] + new + question[old.end() :]
    return None


def _differs(new: str, question: str, source: Source) -> bool:
    """Whether a detail is neither in the question nor in the answer, nor the reverse."""
    new, answer = new.lower(), source.answer.lower()
    return new not in question.lower() and new not in answer and answer not in new
