"""Documents with mentions in chains, cut into runs of sentences that a model can read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headatlas.data import mentions
from headatlas.data.brackets import Span
from headatlas.data.dataset import Example
from headatlas.data.mentions import Mention

__all__ = ["Document"]


@dataclass
class Document:
    """Words, tags, trees and mentions, counted from the start of the document."""

    name: str
    part: str = "0"
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)  # empty where unknown
    above: list[int] = field(default_factory=list)  # the head of each word in its tree, -1 for a root; or none at all
    ends: list[int] = field(default_factory=list)  # the word after each sentence
    spans: list[Span] = field(default_factory=list)

    def add_sentence(self, words: Sequence[str], tags: Sequence[str], heads: Sequence[int | None] = ()) -> None:
        """Add a sentence; `heads` count from 1, and 0 is the root, as in CoNLL-U."""
        first = len(self.words)
        self.words += words
        self.tags += tags
        self.above += [first + head - 1 if head else -1 for head in heads]
        self.ends.append(len(self.words))

    def pieces(self, most: int) -> Iterator[Example]:
        """Runs of whole sentences with at most this many words; a longer sentence is an example of its own."""
        for number, (first, stop) in enumerate(pairwise(self._cuts(most))):
            words = tuple(self.words[first:stop])
            columns: dict[str, object] = {"document": self.name, **self.mention_columns(first, stop)}
            yield Example(f"{self._key}-{number}", text=" ".join(words), words=words, columns=columns)

    @property
    def _key(self) -> str:
        return self.name if not self.part.strip("0") else f"{self.name}.{self.part}"

    def _cuts(self, most: int) -> list[int]:
        """Places between sentences at which the words are cut, with the start and the end."""
        cuts = [0]
        for end, following in pairwise(self.ends):
            if following - cuts[-1] > most:
                cuts.append(end)
        return [*cuts, *self.ends[-1:]]

    def mention_columns(self, first: int, stop: int) -> dict[str, object]:
        """The mentions within these words; one that goes beyond them is left out."""
        inside = [span for span in self.spans if first <= span[1] and span[2] <= stop]
        return mentions.columns([self._mention(span, first) for span in inside], self.words[first:stop])

    def _mention(self, span: Span, first: int) -> Mention:
        """A mention by its place from `first`; its head word is found by the tree or, without one, by its words."""
        chain, start, stop = span
        words = self.words[start:stop]
        head = mentions.head_by_tree(start, stop, self.above) if self.above else start + mentions.head_by_words(words)
        tag = self.tags[head]
        kind = mentions.kind_by_tag(tag) if tag else mentions.kind_by_words(words, head - start)
        return Mention(start - first, stop - first, head - first, chain, kind)
