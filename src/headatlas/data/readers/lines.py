"""Plain text: a line or a paragraph is an example."""

from collections.abc import Iterator
from itertools import groupby

from headatlas.data.dataset import Example
from headatlas.data.files import open_text
from headatlas.data.reader import Reader

__all__ = ["READERS", "lines", "paragraphs"]


def lines(path: str) -> Iterator[Example]:
    """Each line that is not blank; its number is the id."""
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield Example(str(number), text=line.rstrip("\n"))


def paragraphs(path: str) -> Iterator[Example]:
    """Each run of lines between blank lines, joined by spaces; the number of its first line is the id."""
    with open_text(path) as stream:
        for blank, run in groupby(enumerate(stream, 1), key=lambda item: not item[1].strip()):
            if not blank:
                numbers, texts = zip(*run, strict=True)
                yield Example(str(numbers[0]), text=" ".join(text.strip() for text in texts))


READERS = (
    Reader(".txt", plain=lines, example="a line that is not blank", id="number of the line, from 1"),
    Reader(
        "paragraphs:", plain=paragraphs, example="a run of lines between blank lines", id="number of its first line"
    ),
)
