"""Examples, and datasets, which read their examples from the source each time they are iterated."""

import hashlib
import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

from headatlas.data.chats import Message
from headatlas.data.spans import Span, spans_fault
from headatlas.errors import DataError, OptionError

__all__ = ["Dataset", "Example", "Items", "Modality", "Skipped", "Source", "Window"]

Modality = Literal["text", "image"]
Items: TypeAlias = "Generator[Example | Skipped, None, None]"


@dataclass(frozen=True, slots=True)
class Example:
    """One input of a model, with the other columns of its row.

    >>> example = Example("q1", text="Who rang the bell?", pair="Morwenna rang the bell.", columns={"topic": "tides"})
    >>> example.pair
    'Morwenna rang the bell.'
    """

    id: str
    text: str | None = None
    pair: str | None = None
    words: tuple[str, ...] | None = None
    image: str | None = None
    columns: Mapping[str, object] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    messages: tuple[Message, ...] = ()  # of a chat, whose text a model with a template reads in its own form


@dataclass(frozen=True, slots=True)
class Skipped:
    """An example that was skipped, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Window:
    """How texts longer than a model allows are cut: windows of `size` tokens that share `overlap` tokens.

    >>> Window(size=100, overlap=100)
    Traceback (most recent call last):
    headatlas.errors.OptionError: A window of 100 tokens cannot overlap the next by 100. Use an overlap from 0 to 99.
    """

    size: int = 384
    overlap: int = 128

    def __post_init__(self) -> None:
        if self.size < 1:
            raise OptionError(f"A window of {self.size} tokens is empty. Use a size of 1 or more.")
        if not 0 <= self.overlap < self.size:
            raise OptionError(
                f"A window of {self.size} tokens cannot overlap the next by {self.overlap}. "
                f"Use an overlap from 0 to {self.size - 1}."
            )


class Source(Protocol):
    """Where the examples of a dataset come from."""

    def read(self) -> Items:
        """Read from the start."""

    def content(self) -> Iterator[bytes]:
        """Every byte that can change what `read` yields, for the fingerprint."""


class Dataset:
    """Examples that are read from their source on each iteration, so memory does not grow with their number.

    `skipped` lists the examples that the last iteration skipped. `group` names the column, of those that an atlas
    stores, whose equal values have one source, such as questions on one passage (`pair`).

    >>> from headatlas.data import load
    >>> dataset = load(["one", "  ", "three"])
    >>> [example.id for example in dataset]
    ['0', '2']
    >>> dataset.skipped
    [Skipped(id='1', reason='empty text')]
    """

    def __init__(
        self,
        name: str,
        source: Source,
        *,
        modality: Modality = "text",
        window: Window | None = None,
        group: str | None = None,
        limit: int | None = None,
        shuffle: int | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise OptionError(f"limit is {limit}, but at least 1 example is needed. Omit limit to read all of them.")
        self.name = name
        self.modality: Modality = modality
        self.window = window
        self.group = group
        self.skipped: list[Skipped] = []
        self.shuffle = shuffle  # seed of the order of tokens within each text; None: as written
        self._source = source
        self._limit = limit

    def __repr__(self) -> str:
        limit = f", limit={self._limit}" if self._limit else ""
        return f"<Dataset {self.name}: {self.modality}{limit}>"

    def __iter__(self) -> Iterator[Example]:
        return self._iterate()

    def _iterate(self) -> Generator[Example, None, None]:
        self.skipped = skipped = []
        count = 0
        with closing(self._checked()) as items:
            for item in items:
                if isinstance(item, Skipped):
                    skipped.append(item)
                    continue
                count += 1
                yield item
                if count == self._limit:
                    return
        if not count:
            raise DataError(f"{self.name} has no examples{_count(skipped)}. Check that it is the right dataset.")

    def _checked(self) -> Items:
        with closing(self._source.read()) as items:
            for item in items:
                reason = _fault(item) if isinstance(item, Example) else None
                if reason is None and isinstance(item, Example):
                    self._check_spans(item)
                yield Skipped(item.id, reason) if reason else item

    def _check_spans(self, example: Example) -> None:
        text = " ".join(example.words) if example.words else example.text
        fault = spans_fault(example.spans, text, example.pair) if example.spans else None
        if fault:
            raise DataError(f"{self.name}, example {example.id}: {fault}. Correct this span, or leave it out.")

    def check(self) -> None:
        """Raise an error if its first example cannot be read: a wrong column or format shows before any work."""
        with closing(self._iterate()) as examples:
            next(examples, None)

    def limited(self, limit: int) -> "Dataset":
        """The same dataset with at most `limit` examples.

        >>> from headatlas.data import load
        >>> len(list(load("sample").limited(3)))
        3
        """
        limit = limit if self._limit is None else min(limit, self._limit)
        return self._changed(self.name, limit, self.shuffle)

    def shuffled(self, seed: int = 0) -> "Dataset":
        """The same texts, each with its tokens in random order when a model reads it; special tokens stay in place.

        >>> from headatlas.data import load
        >>> load("sample").shuffled().name
        'sample, tokens shuffled with seed 0'
        """
        if self.modality == "image":
            raise OptionError(f"{self.name} holds images: only tokens of texts can be shuffled, patches cannot")
        if seed < 0:
            raise OptionError(f"seed {seed}: it cannot be negative")
        return self._changed(f"{self.name}, tokens shuffled with seed {seed}", self._limit, seed)

    def held(self) -> "Dataset":
        """The same dataset, which reads its source once and keeps the examples in memory.

        >>> from headatlas.data import load
        >>> load("sample").held().fingerprint == load("sample").fingerprint
        True
        """
        held = self._changed(self.name, self._limit, self.shuffle)
        held._source = _Held(self)
        return held

    def _changed(self, name: str, limit: int | None, shuffle: int | None) -> "Dataset":
        return Dataset(
            name,
            self._source,
            modality=self.modality,
            window=self.window,
            group=self.group,
            limit=limit,
            shuffle=shuffle,
        )

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the bytes of the source and the options that select from them.

        >>> from headatlas.data import load
        >>> load(["a", "b"]).fingerprint == load(["a", "b"]).fingerprint
        True
        >>> load(["a", "b"]).fingerprint == load(["a", "b"], limit=1).fingerprint
        False
        """
        options = {"limit": self._limit} | ({} if self.shuffle is None else {"shuffle": self.shuffle})
        digest = hashlib.sha256(json.dumps(options).encode())
        for block in self._source.content():
            digest.update(block)
        return digest.hexdigest()


class _Held:
    """The examples of a dataset as a source."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.items: list[Example | Skipped] | None = None

    def read(self) -> Items:
        """Yield the examples; the first time, read them."""
        if self.items is None:
            examples = list(self.dataset)
            self.items = [*self.dataset.skipped, *examples]
        yield from self.items

    def content(self) -> Iterator[bytes]:
        """The bytes of the source itself."""
        return self.dataset._source.content()


def _fault(example: Example) -> str | None:
    """Why a model cannot read this example, or None."""
    if example.image is not None:
        return None
    if not (example.text or "").strip():
        return "empty text"
    if example.pair is not None and not example.pair.strip():
        return "empty pair"
    # JSON can contain halves of surrogate pairs as escapes; no tokenizer accepts them.
    return None if is_text(f"{example.text}{example.pair}") else "half a surrogate pair in the text"


def is_text(string: str) -> bool:
    """Whether a string can be encoded: one that holds half a surrogate pair cannot."""
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can contain but UTF-8 cannot store."""
    return text.encode("utf-8", "replace").decode()


def _count(skipped: list[Skipped]) -> str:
    """How many examples were skipped, by reason, as the end of a sentence."""
    if not skipped:
        return ""
    reasons = Counter(item.reason for item in skipped)
    return f" ({len(skipped):,} skipped: {', '.join(f'{n:,} × {reason}' for reason, n in reasons.most_common(5))})"
