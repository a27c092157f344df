"""Coreference: consecutive sentences of a document, with their mentions in chains."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath

from headatlas.data import conll, files
from headatlas.data.brackets import Brackets, UnbalancedError, declared_chain
from headatlas.data.dataset import Example
from headatlas.data.documents import Document
from headatlas.data.reader import Reader
from headatlas.data.readers import treebank
from headatlas.errors import DataError

__all__ = ["READERS", "passages", "split"]

WORDS = 256  # of an example: with two pieces per word it still fits into 512 tokens


def passages(name: str) -> Iterator[Example]:
    """One example per run of sentences, from CoNLL-2012 or from CoNLL-U with Entity."""
    path, most = split(name)
    is_treebank = ".conllu" in PurePosixPath(path).suffixes
    mentioned = False
    for document in _treebank_documents(path) if is_treebank else conll.documents(path):
        mentioned = mentioned or bool(document.spans)
        yield from document.pieces(most)
    if not mentioned:
        raise DataError(
            f"{path} has no mentions. Expected brackets such as (0 or 0) in the last column, or Entity= in MISC of a "
            ".conllu file."
        )


def split(name: str) -> tuple[str, int]:
    """The file, and the most words of an example.

    >>> split("x.conll"), split("x.conll:100")
    (('x.conll', 256), ('x.conll', 100))
    """
    path, _, most = name.rpartition(":")
    if not (path and most.isdecimal()):
        return name, WORDS
    if int(most) < 1:
        raise DataError(f"coref:{name} asks for examples of {most} words. Use at least 1.")
    return path, int(most)


def _treebank_documents(path: str) -> Iterator[Document]:
    """Documents by `newdoc id`; a file without them is one document."""
    for name, sentences in groupby(treebank.parsed(path), key=lambda item: item[0].columns.get("document")):
        document = Document(str(name or PurePosixPath(path).name))
        brackets, sentence = Brackets(unit="in its sentence"), None
        try:
            for sentence, declaration in sentences:
                brackets.chain_of = declared_chain(declaration)
                _add(document, sentence, brackets)
            brackets.check_closed()
        except UnbalancedError as error:
            where = f"sentence {sentence.id}" if sentence else f"document {document.name}"
            raise DataError(f"{path}, {where}: {error}. Fix the brackets of Entity there.") from error
        yield document


def _add(document: Document, sentence: Example, brackets: Brackets) -> None:
    first, columns = len(document.words), treebank.lists(sentence)
    document.add_sentence(sentence.words or (), columns["upos"], columns["head"])
    for word, value in enumerate(columns["entity"], first):
        document.spans += brackets.read(value or "", word, len(document.ends))


def _check(name: str) -> None:
    files.require(split(name)[0])


def _content(name: str) -> Iterator[bytes]:
    """The limit of words, which changes the examples, and the file."""
    path, most = split(name)
    yield str(most).encode()
    yield from files.raw_bytes(path)


READERS = (
    Reader(
        "coref:",
        path="FILE[:WORDS]",
        plain=passages,
        check=_check,
        content=_content,
        group="document",
        example="consecutive sentences with mentions in chains, up to 256 words or as many as it says",
        id="document, and number of the run of sentences, from 0",
    ),
)
