"""Vectors of words from a file: GloVe or word2vec text, or a NumPy archive."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.data.files import open_bytes, open_text, require
from headatlas.errors import DataError

__all__ = ["WordVectors", "check", "fingerprint", "read"]

Array = NDArray[np.float32]

FORMATS = "Give GloVe text (a word and its numbers on each line) or a .npz with `vectors` and `words`"


@dataclass(frozen=True)
class WordVectors:
    """Vectors by word. A word that is not found as it is written is looked up in lower case."""

    rows: dict[str, int]
    vectors: Array  # (word, feature)

    @property
    def width(self) -> int:
        """Numbers per word."""
        return int(self.vectors.shape[1])

    def knows(self, word: str) -> bool:
        """Whether a word has a vector."""
        return word in self.rows or word.lower() in self.rows

    def of(self, words: Collection[str]) -> Array:
        """Vectors (word, feature); those of unknown words are zero.

        >>> vectors = WordVectors({"cat": 0}, np.ones((1, 2), np.float32))
        >>> vectors.of(["Cat", "qzx"]).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        vectors = np.zeros((len(words), self.width), np.float32)
        for place, word in enumerate(words):
            row = self.rows.get(word, self.rows.get(word.lower()))
            if row is not None:
                vectors[place] = self.vectors[row]
        return vectors


def fingerprint(path: str) -> str:
    """A digest of the bytes of a file, and of the list of words beside an archive."""
    require(path)
    digest = hashlib.blake2b(digest_size=16)
    for name in (path, *_words_beside(path)):
        with open_bytes(name, compression=None) as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def check(path: str) -> None:
    """Raise an error if a file cannot be read as vectors, before a model is run for them."""
    require(path)
    _archive(path, set()) if path.endswith(".npz") else _text(path, set())


def read(path: str, wanted: Collection[str]) -> WordVectors:
    """The vectors of some words, as they are written or in lower case; others are not kept in memory."""
    require(path)
    kept = set(wanted) | {word.lower() for word in wanted}
    words, vectors = _archive(path, kept) if path.endswith(".npz") else _text(path, kept)
    if not words:
        raise DataError(f"{path} has a vector for none of the words of the dataset. {FORMATS}")
    if not np.isfinite(vectors).all():
        raise DataError(f"{path} has numbers that are not finite")
    return WordVectors({word: row for row, word in enumerate(words)}, vectors)


def _text(path: str, kept: set[str]) -> tuple[list[str], Array]:
    """The first of equal words counts, as in the files that were published."""
    vectors: dict[str, Array] = {}
    width = None
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                continue  # the header of word2vec: how many words, how many numbers
            width = width or len(numbers)
            if len(numbers) != width or not width:
                raise DataError(f"{path}, line {number}: {len(numbers)} numbers, not {width or 'some'}. {FORMATS}")
            parsed = _numbers(numbers, path, number) if number == 1 or word in kept else None
            if parsed is not None and word in kept:
                vectors.setdefault(word, parsed)
    if width is None:
        raise DataError(f"{path} is empty. {FORMATS}")
    return list(vectors), np.array(list(vectors.values()), np.float32).reshape(len(vectors), width)


def _numbers(texts: list[str], path: str, line: int) -> Array:
    try:
        return np.array(texts, np.float32)
    except ValueError as error:
        raise DataError(f"{path}, line {line}: {error}. {FORMATS}") from None


def _archive(path: str, kept: set[str]) -> tuple[list[str], Array]:
    with open_bytes(path) as stream:
        try:
            arrays: dict[str, Any] = dict(np.load(stream, allow_pickle=False))
        except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is not a NumPy archive of plain arrays: {error}. {FORMATS}") from None
    vectors = arrays.get("vectors")
    if vectors is None or vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise DataError(f"{path} has no array `vectors` of numbers (word, feature). {FORMATS}")
    words = _words(path, arrays)
    if len(words) != len(vectors):
        raise DataError(f"{path}: {len(words):,} words, but {len(vectors):,} vectors. Each row needs its word")
    first = {word: row for row, word in reversed(list(enumerate(words))) if word in kept}
    return list(first), vectors[list(first.values())].astype(np.float32)


def _words(path: str, arrays: dict[str, Any]) -> list[str]:
    """The words of the rows: an array of the archive, or the lines of vocab.txt beside it."""
    if "words" in arrays:
        return [str(word) for word in arrays["words"].tolist()]
    beside = next(_words_beside(path), None)
    if beside is None:
        raise DataError(f"{path} has no array `words`, and there is no vocab.txt beside it. {FORMATS}")
    with open_text(beside) as stream:
        return stream.read().splitlines()


def _words_beside(path: str) -> Iterator[str]:
    """The list of words beside an archive, if there is one."""
    if path.endswith(".npz"):
        beside = str(PurePosixPath(path).with_name("vocab.txt")) if "://" not in path else _sibling(path)
        try:
            require(beside)
        except DataError:
            return
        yield beside


def _sibling(url: str) -> str:
    return f"{url.rpartition('/')[0]}/vocab.txt"
