"""Rules that choose an antecedent without a model: the nearest, the same word, and what agrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from headatlas.data.pronouns import PRONOUNS, Features

MASCULINE = frozenset(
    ["mr", "mr.", "sir", "lord", "king", "prince", "duke", "man", "men", "boy", "boys", "father", "son", "brother",
     "brothers", "uncle", "husband", "gentleman", "gentlemen", "grandfather", "nephew", "monsieur", "master"]
)  # fmt: skip
FEMININE = frozenset(
    ["mrs", "mrs.", "ms", "ms.", "miss", "madam", "madame", "lady", "ladies", "queen", "princess", "duchess", "woman",
     "women", "girl", "girls", "mother", "daughter", "sister", "sisters", "aunt", "wife", "grandmother", "niece"]
)  # fmt: skip
PLURAL = frozenset(["men", "women", "people", "children", "gentlemen", "feet", "police", "folk", "mice", "teeth"])


@dataclass(frozen=True)
class Words:
    """A mention as rules see it."""

    place: int  # of its head word
    word: str  # its head word
    text: str
    kind: str

    @cached_property
    def features(self) -> Features:
        """Person, number and gender, as far as its words tell."""
        words = self.text.casefold().split()
        if len(words) == 1 and words[0] in PRONOUNS:
            return PRONOUNS[words[0]]
        genders = [name for name, known in (("masculine", MASCULINE), ("feminine", FEMININE)) if known & {*words}]
        return Features("3", self._number(words), genders[0] if len(genders) == 1 else "")

    def _number(self, words: Sequence[str]) -> str:
        """Plural: two joined by "and", or a common noun that ends in s; a proper noun is singular."""
        last = self.word.casefold()
        plural = last in PLURAL or (self.kind == "nominal" and last.endswith("s") and not last.endswith("ss"))
        return "plural" if plural or "and" in words else "singular"


def agrees(mention: Words, other: Words) -> bool:
    """Whether two mentions agree in person, number and gender, where both have them."""
    return all(
        first == second or not (first and second)
        for first, second in zip(mention.features, other.features, strict=True)
    )


def nearest(mention: Words, candidates: Sequence[Words]) -> Words:
    """The candidate with the nearest head word; of two at one distance, the later in the list."""
    return min(reversed(candidates), key=lambda other: abs(other.place - mention.place))


Rule = Callable[[Words, Words], bool]
SAME_TEXT: Rule = lambda mention, other: mention.text.casefold() == other.text.casefold()  # noqa: E731
SAME_WORD: Rule = lambda mention, other: mention.word.casefold() == other.word.casefold()  # noqa: E731
BASELINES: dict[str, tuple[Rule, ...]] = {
    "nearest": (),
    "same_word": (SAME_WORD,),
    "rules": (SAME_TEXT, SAME_WORD, agrees),
}


def chosen(mention: Words, candidates: Sequence[Words], rules: Sequence[Rule]) -> Words:
    """The nearest candidate by the first rule that holds for one; without any, the nearest of all."""
    for rule in rules:
        if fitting := [other for other in candidates if rule(mention, other)]:
            return nearest(mention, fitting)
    return nearest(mention, candidates)
