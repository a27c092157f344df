"""CoNLL-U: sentences split into words, with the syntax of each word and the mentions of each sentence."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TextIO

from headatlas.data.brackets import Brackets, UnbalancedError, declared_chain
from headatlas.data.dataset import Example
from headatlas.data.documents import Document
from headatlas.data.files import open_text
from headatlas.data.reader import Reader
from headatlas.errors import DataError

__all__ = ["READERS", "lists", "parsed", "sentences"]

PER_WORD = ("form", "upos", "xpos", "head", "deprel", "lemma")


def sentences(path: str) -> Iterator[Example]:
    """One example per sentence; its words are the lines with an integer id."""
    for example, declaration in parsed(path):
        yield _with_mentions(example, declaration) if "entity" in example.columns else example


def parsed(path: str) -> Iterator[tuple[Example, str | None]]:
    """Each sentence, and what the file declares about the brackets in its column `entity`."""
    from conllu import parse_incr
    from conllu.exceptions import ParseException

    # The library truncates values at the second "=", and spends most of its time on columns that are not used here.
    raw = dict.fromkeys(("feats", "deps", "misc"), _unparsed)
    document: str | None = None
    declaration: str | None = None
    number = 0
    with open_text(path) as stream:
        lines = _CountedLines(stream)
        try:
            for number, sentence in enumerate(parse_incr(lines, field_parsers=raw), 1):
                document = sentence.metadata.get("newdoc id", document)
                declaration = sentence.metadata.get("global.Entity", declaration)
                yield _example(sentence, number, document, path), declaration
        except UnicodeDecodeError:
            raise
        except (ParseException, ValueError, TypeError, LookupError, AttributeError) as error:
            raise DataError(
                f"{path} is not CoNLL-U, in sentence {number + 1} from the start, up to line {lines.count}: "
                f"{_reason(error)}. Check that its 10 columns are separated by tabs, and that ids are 1, 1-2 or 1.1."
            ) from error


class _CountedLines:
    """The lines of a file, and how many were read."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.count = stream, 0

    def read(self) -> str:
        """The rest of the file; the library asks only whether this exists."""
        return self.stream.read()

    def __iter__(self) -> Iterator[str]:
        for line in self.stream:
            self.count += 1
            yield line


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")


def _example(sentence: Any, number: int, document: str | None, path: str) -> Example:
    tokens = [token for token in sentence if isinstance(token["id"], int)]
    name = sentence.metadata.get("sent_id") or str(number)
    if any(column not in token for token in tokens for column in PER_WORD):
        raise DataError(f"{path} is not CoNLL-U: sentence {name} has fewer than 8 columns. Fill the others with _.")
    words = tuple(str(token["form"]) for token in tokens)
    columns: dict[str, object] = {column: [token[column] for token in tokens] for column in PER_WORD}
    if document is not None:
        columns["document"] = document
    entity = [_entity(token.get("misc", "_")) for token in tokens]
    if any(entity):
        columns["entity"] = entity
    return Example(name, text=sentence.metadata.get("text") or " ".join(words), words=words, columns=columns)


def lists(sentence: Example) -> dict[str, list[Any]]:
    """The columns of a sentence that have one value per word; `entity` is empty if there are no brackets."""
    columns: dict[str, Any] = {"entity": [], **sentence.columns}
    return {name: list(columns[name]) for name in (*PER_WORD, "entity")}


def _with_mentions(sentence: Example, declaration: str | None) -> Example:
    """The sentence with its mentions. Brackets without a partner in it are left out: they may span sentences."""
    document, brackets, columns = Document(""), Brackets(declared_chain(declaration), strict=False), lists(sentence)
    document.add_sentence(sentence.words or (), columns["upos"], columns["head"])
    for word, value in enumerate(columns["entity"]):
        with suppress(UnbalancedError):
            document.spans += brackets.read(value or "", word)
    return replace(sentence, columns={**sentence.columns, **document.mention_columns(0, len(document.words))})


def _unparsed(line: list[str], column: int) -> str:
    return line[column]


def _entity(misc: str) -> str | None:
    """The coreference brackets of a word.

    >>> _entity("Entity=(1-person-giv:act-cf1-1-coref)|SpaceAfter=No")
    '(1-person-giv:act-cf1-1-coref)'
    """
    parts = (part.partition("=") for part in misc.split("|"))
    return next((value for name, _, value in parts if name == "Entity"), None)


READERS = (
    Reader(
        "conllu:",
        plain=sentences,
        example="a sentence of a treebank",
        id="`sent_id`, or number of the sentence, from 1",
    ),
)
