"""Columns that follow from a text itself, each declared once, so that there is always something to compare heads with.

>>> {column.name: column.compute("Who sang? Ann sang.") for column in TEXT_COLUMNS}
{'question': True, 'quotation': False, 'digits': False, 'capitals': 0.14285714285714285, 'repeated': 0.25, \
'punctuation': 0.125, 'sentences': 2.0, 'script': 'Latin'}
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["TEXT_COLUMNS", "TextColumn", "TextValue"]

TextValue = bool | float | str | None

WORD = re.compile(r"\w+")
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[」』”’）]*")
QUESTION_MARKS = frozenset("?？؟")
QUOTATION_MARKS = frozenset('"“”„«»‹›「」『』')


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column that is computed from a text; None where the text has nothing to count.

    Numbers are floats, so that they are compared in bins, also where they are counts.
    """

    name: str
    label: str  # in a sentence: heads change with …
    definition: str
    compute: Callable[[str], TextValue]


@lru_cache(maxsize=1 << 16)
def _script(letter: str) -> str:
    """The script of a letter, the first word of its Unicode name.

    >>> _script("я"), _script("語")
    ('Cyrillic', 'CJK')
    """
    word = unicodedata.name(letter, "unknown").split()[0]
    return word if word == "CJK" else word.capitalize()


def _share(text: str, counted: Callable[[str], bool], among: Callable[[str], bool]) -> float | None:
    """The share of some characters among others; each distinct character is looked at once."""
    counts = Counter(text)
    total = sum(count for character, count in counts.items() if among(character))
    return sum(count for character, count in counts.items() if counted(character)) / total if total else None


def _capitals(text: str) -> float | None:
    return _share(text, str.isupper, lambda character: character.isupper() or character.islower())


def _punctuation(text: str) -> float | None:
    return _share(text, lambda character: unicodedata.category(character)[0] == "P", lambda c: not c.isspace())


def _repeated(text: str) -> float | None:
    words = WORD.findall(text.casefold())
    return (len(words) - len(set(words))) / len(words) if words else None


def _sentences(text: str) -> float:
    """The number of sentences; the end of the text ends the last one.

    >>> _sentences('He said "Stop!" and left. 3.5 km on, it rained'), _sentences("雨が降る。寒い。")
    (3.0, 2.0)
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    rest = text[ends[-1] :] if ends else text
    return float(len(ends) + (not ends or bool(rest.strip())))


def _main_script(text: str) -> str | None:
    counts: Counter[str] = Counter()
    for character, number in Counter(text).items():
        if character.isalpha():
            counts[_script(character)] += number
    return min(counts, key=lambda script: (-counts[script], script)) if counts else None


def _any_of(characters: frozenset[str]) -> Callable[[str], bool]:
    return lambda text: not characters.isdisjoint(text)


TEXT_COLUMNS = (
    TextColumn("question", "question marks", "whether the text has a question mark", _any_of(QUESTION_MARKS)),
    TextColumn("quotation", "quotation marks", "whether the text has a quotation mark", _any_of(QUOTATION_MARKS)),
    TextColumn("digits", "digits", "whether the text has a digit", lambda text: any(map(str.isdigit, set(text)))),
    TextColumn("capitals", "capital letters", "share of upper-case letters among letters with case", _capitals),
    TextColumn("repeated", "repeated words", "share of words that occurred before in the text", _repeated),
    TextColumn("punctuation", "punctuation", "share of punctuation among characters other than spaces", _punctuation),
    TextColumn("sentences", "the number of sentences", "number of sentences", _sentences),
    TextColumn("script", "the script", "script of most letters: Latin, Cyrillic, CJK …", _main_script),
)
