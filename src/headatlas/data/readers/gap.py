"""GAP: a pronoun and two names in a text; which of the two does it mean?"""

import csv
from collections.abc import Iterator, Mapping, Sequence

from headatlas.data import mentions
from headatlas.data.dataset import Example
from headatlas.data.files import open_text
from headatlas.data.mentions import Mention
from headatlas.data.pronouns import PRONOUNS
from headatlas.data.reader import Reader
from headatlas.errors import DataError

__all__ = ["READERS", "choices"]

MARKED = ("Pronoun", "A", "B")
LABELS = {"TRUE": True, "FALSE": False}
NEEDED = ("Text", *MARKED, *(f"{name}-offset" for name in MARKED), "A-coref", "B-coref")

Row = Mapping[str, str]


def choices(path: str) -> Iterator[Example]:
    """One example per pronoun. Words are divided by spaces, and at the borders of the pronoun and the names."""
    number = -1
    with open_text(path, newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        try:
            _check_columns(rows.fieldnames or ())
            for number, row in enumerate(rows):
                yield _example(row, number)
        except UnicodeDecodeError:
            raise  # the file says where
        except (ValueError, csv.Error) as error:
            raise DataError(f"{path} is not in GAP format, line {number + 2}: {error}. Fix that line.") from error


def _check_columns(names: Sequence[str]) -> None:
    absent = [name for name in NEEDED if name not in names]
    if absent:
        raise ValueError(f"the first line names the columns, and {absent[0]!r} is missing")


def _example(row: Row, number: int) -> Example:
    spans = [_characters(row, name) for name in MARKED]
    starts, words = _divided(row["Text"], {border for span in spans for border in span})
    right = {"Pronoun": True} | {name: _label(row, name) for name in MARKED[1:]}
    marked_mentions = []
    for name, (first, last) in zip(MARKED, spans, strict=True):
        start, stop = (sum(place < border for place in starts) for border in (first, last))
        chain = "pronoun" if right[name] else name
        kind = mentions.kind_by_words(words[start:stop], stop - start - 1)
        marked_mentions.append(Mention(start, stop, stop - 1, chain, kind))
    asked = sorted(marked_mentions).index(marked_mentions[0])
    columns: dict[str, object] = {**mentions.columns(marked_mentions, words), "mention_asked": asked}
    columns |= {"gender": _gender(row["Pronoun"]), "document": row.get("URL") or None}
    return Example(row.get("ID") or str(number), text=" ".join(words), words=tuple(words), columns=columns)


def _characters(row: Row, name: str) -> tuple[int, int]:
    """Where the pronoun or a name is in the text."""
    text, marked = row["Text"] or "", row[name] or ""
    offset = row[f"{name}-offset"] or ""
    start = int(offset) if offset.isdecimal() else -1
    if not marked or start < 0 or text[start : start + len(marked)] != marked:
        raise ValueError(f"{name} {marked!r} is not at character {offset!r} of the text")
    return start, start + len(marked)


def _label(row: Row, name: str) -> bool:
    label = (row[f"{name}-coref"] or "").strip().upper()
    if label not in LABELS:
        raise ValueError(f"{name}-coref is {label!r}, not TRUE or FALSE")
    return LABELS[label]


def _divided(text: str, borders: set[int]) -> tuple[list[int], list[str]]:
    """Words of a text, and the character at which each starts.

    >>> _divided("Ann's cat", {0, 3})
    ([0, 3, 6], ['Ann', "'s", 'cat'])
    """
    starts = [
        place
        for place, letter in enumerate(text)
        if not letter.isspace() and (place == 0 or text[place - 1].isspace() or place in borders)
    ]
    return starts, [text[start:stop].split()[0] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]


def _gender(pronoun: str) -> str | None:
    features = PRONOUNS.get(pronoun.casefold())
    return (features.gender or None) if features else None


READERS = (
    Reader(
        "gap:",
        plain=choices,
        group="document",
        example="a text of GAP: a pronoun, and two names that it may mean",
        id="column `ID`, or number of the row, from 0",
    ),
)
