"""Sentences in memory, and their maps in a temporary file, which is read as it is needed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MODELS = ("trained", "untrained")
DISTANCES = (1, 2, 3, 4, 5, 10, 20)  # bounds of classes of distances, before and after

Maps = Callable[["Sentence"], NDArray[Any]]  # (query, key, head) of a sentence


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, from 1; 0 is the root."""

    example: int
    form: tuple[str, ...]
    head: NDArray[np.int64]  # (word,)
    scored: NDArray[np.bool_]  # (word,) all but punctuation
    offset: int = 0  # of its maps in the file, in numbers

    @property
    def words(self) -> int:
        """Number of words."""
        return len(self.head)


@dataclass(frozen=True)
class Corpus:
    """The sentences of all parts, their maps by model, and how many were left out, by reason."""

    sentences: list[Sentence]
    maps: dict[str, Maps]
    heads: int
    skipped: dict[str, int]


@contextmanager
def gathered(tables: Iterable[pa.Table], heads: int) -> Iterator[Corpus]:
    """The corpus of some parts. Its maps are in a temporary file, so that memory does not grow with their number."""
    sentences: list[Sentence] = []
    skipped: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="headatlas-") as folder:
        files = {model: Path(folder, model) for model in MODELS}
        streams = {model: path.open("wb") for model, path in files.items()}
        for table in tables:
            _add(table, sentences, skipped, streams, heads)
        for stream in streams.values():
            stream.close()
        maps = {model: _reader(path, heads) for model, path in files.items() if path.stat().st_size}
        yield Corpus(sentences, maps, heads, dict(skipped))
        maps.clear()  # a file that is mapped cannot be deleted everywhere


def _add(
    table: pa.Table, sentences: list[Sentence], skipped: Counter[str], streams: Mapping[str, BinaryIO], heads: int
) -> None:
    for row in table.to_pylist():
        if row["skipped"] is not None:
            skipped[row["skipped"]] += 1
            continue
        offset = sentences[-1].offset + (sentences[-1].words + 1) ** 2 * heads if sentences else 0
        scored = ~np.array(row["punctuation"], bool)
        form = tuple(row["form"] or ())
        sentences.append(Sentence(row["example"], form, np.array(row["head"], np.int64), scored, offset))
        for model, stream in streams.items():
            stream.write(row[model] or b"")


def _reader(path: Path, heads: int) -> Maps:
    stored = np.memmap(path, np.float16, "r")

    def read(sentence: Sentence) -> NDArray[np.float16]:
        nodes = sentence.words + 1
        return stored[sentence.offset : sentence.offset + nodes * nodes * heads].reshape(nodes, nodes, heads)

    return read


def distance_maps(sentence: Sentence) -> NDArray[np.float16]:
    """Maps of no model: head k attends to all words in the k-th class of distances; the root is before the first word.

    >>> maps = distance_maps(Sentence(0, (), np.array([2, 0, 2]), np.ones(3, bool)))
    >>> maps.shape, maps[[1, 2], [2, 1]].argmax(-1).tolist()  # (query, key, class): next, previous
    ((4, 4, 16), [8, 0])
    """
    place = np.arange(sentence.words + 1)
    distance = place[None] - place[:, None]
    group = np.searchsorted(DISTANCES, np.abs(distance)) + np.where(distance > 0, len(DISTANCES) + 1, 0)
    maps: NDArray[np.float16] = np.eye(2 * (len(DISTANCES) + 1), dtype=np.float16)[group]
    return maps
