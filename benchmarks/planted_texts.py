"""Texts of planted kinds, of about the same length: what a head that attends to content must treat differently.

All words come from the packaged corpus, so the kinds differ in arrangement and not in vocabulary (code and numbers
aside). Another seed gives other texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import headatlas as ha

WORDS = (44, 72)  # per text


def planted(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """`count` texts of each kind, and the kind of each.

    >>> texts, kinds = planted(2)
    >>> len(texts), kinds[:3]
    (14, ['plain', 'plain', 'repeated'])
    """
    rng = random.Random(seed)
    corpus = list(ha.data.load("sample"))
    passages = [example.text for example in corpus]
    texts, kinds = [], []
    for kind, write in KINDS.items():
        for _ in range(count):
            texts.append(write(rng, passages, rng.randint(*WORDS)))
            kinds.append(kind)
    return texts, kinds


def _plain(rng: random.Random, passages: list[str], size: int) -> str:
    words = rng.choice(passages).split()
    start = rng.randint(0, max(0, len(words) - size))
    return " ".join(words[start : start + size])


def _vocabulary(rng: random.Random, passages: list[str], size: int) -> list[str]:
    words = sorted({word.lower() for text in passages for word in re.findall(r"[A-Za-z]{3,9}", text)})
    return rng.sample(words, size)


def _repeated(rng: random.Random, passages: list[str], size: int) -> str:
    """Random words, said twice."""
    half = _vocabulary(rng, passages, size // 2)
    return " ".join(half + half)


def _shuffled(rng: random.Random, passages: list[str], size: int) -> str:
    words = _plain(rng, passages, size).split()
    rng.shuffle(words)
    return " ".join(words)


def _listed(rng: random.Random, passages: list[str], size: int) -> str:
    words = _vocabulary(rng, passages, size // 2)
    return "\n".join(f"{number}. {word}" for number, word in enumerate(words, 1))


def _code(rng: random.Random, passages: list[str], size: int) -> str:
    names = _vocabulary(rng, passages, 24)
    lines = []
    while sum(len(line.split()) for line in lines) < size * 0.6:
        function, first, second, third = rng.sample(names, 4)
        lines += [
            f"def {function}({first}, {second}):",
            f"    {third} = {first} + {rng.randint(2, 99)}",
            f"    for {function}_{third} in {second}:",
            f"        {third} = {third} * {function}_{third}",
            f"    return {third}",
        ]
    return "\n".join(lines)


def _questions(rng: random.Random, passages: list[str], size: int) -> str:
    words = _vocabulary(rng, passages, 60)
    openings = ("Why is the", "Who has seen the", "Where can a", "What does the", "When will this", "How old is the")
    asked: list[str] = []
    while sum(len(question.split()) for question in asked) < size:
        asked.append(f"{rng.choice(openings)} {' '.join(rng.sample(words, rng.randint(2, 4)))}?")
    return " ".join(asked)


def _one_word(rng: random.Random, passages: list[str], size: int) -> str:
    return " ".join(_vocabulary(rng, passages, 1) * size)


KINDS: dict[str, Callable[[random.Random, list[str], int], str]] = {
    "plain": _plain,
    "repeated": _repeated,
    "shuffled": _shuffled,
    "list": _listed,
    "code": _code,
    "questions": _questions,
    "one word": _one_word,
}
