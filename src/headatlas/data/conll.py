"""CoNLL-2012: one word per line, with brackets of coreference in the last column."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from headatlas.data.brackets import Brackets, UnbalancedError
from headatlas.data.documents import Document
from headatlas.data.files import open_text
from headatlas.errors import DataError

__all__ = ["documents"]

BEGIN = re.compile(r"#begin document \(?(?P<name>.*?)\)?(?:; part (?P<part>\S+))?\s*")
NAME, PART, WORD, TAG = 0, 1, 3, 4  # columns
NOTHING = ("", "-", "_", "*")


class _Open:
    """A document while it is read, line by line."""

    def __init__(self, name: str, part: str = "0") -> None:
        self.document, self.brackets = Document(name, part), Brackets()
        self.rows: list[tuple[str, str]] = []  # word and tag of the sentence so far

    def add(self, line: str, number: int) -> None:
        """Add a line of columns, which are separated by tabs or by spaces."""
        row = line.rstrip("\n").split("\t") if "\t" in line else line.split()
        if len(row) <= WORD + 1:
            raise UnbalancedError(f"{len(row)} columns; expected the document, the part, a number, the word and more")
        tag = row[TAG] if len(row) > TAG + 1 and row[TAG] not in NOTHING else ""
        word = len(self.document.words) + len(self.rows)
        self.rows.append((row[WORD], tag))
        value = row[-1].strip()
        if value not in NOTHING:
            self.document.spans += self.brackets.read(value, word, number)

    def end_sentence(self) -> None:
        """Blank lines are between sentences."""
        if self.rows:
            self.document.add_sentence(*zip(*self.rows, strict=True))
            self.rows = []

    def finished(self) -> Document:
        """The whole document."""
        self.end_sentence()
        self.brackets.check_closed()
        return self.document


def documents(path: str) -> Iterator[Document]:
    """Each document or part of one, as `#begin document` divides them; chains do not go beyond a part."""
    number = 0
    reading = _Open(PurePosixPath(path).name)
    try:
        with open_text(path) as stream:
            for number, line in enumerate(stream, 1):
                begins = BEGIN.fullmatch(line)
                if begins or line.startswith("#end document"):
                    yield reading.finished()
                    reading = (
                        _Open(begins["name"], begins["part"] or "0") if begins else _Open(PurePosixPath(path).name)
                    )
                elif not line.strip():
                    reading.end_sentence()
                elif not line.startswith("#"):
                    reading.add(line, number)
            yield reading.finished()
    except UnbalancedError as error:
        raise DataError(f"{path}, line {number}: {error}. Fix the brackets or columns there.") from error
