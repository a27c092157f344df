"""What a dataset has, known when all of it was read once: types of its columns, kinds of its spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headatlas.data import Dataset, Example
from headatlas.data.spans import MOST_KINDS
from headatlas.errors import DataError
from headatlas.stages.collect.dataset_tables import column_types


@dataclass(frozen=True, slots=True)
class Content:
    """Types of the columns of a dataset, kinds of its spans in the order of their first use, and whether it has chats.

    >>> Content({}, ("user", "assistant"), chats=True).token_columns, Content({}).token_columns
    (('span', 'turn'), ())
    """

    columns: dict[str, Any]
    spans: tuple[str, ...] = ()
    chats: bool = False

    @property
    def token_columns(self) -> tuple[str, ...]:
        """The columns of the table `tokens` that say which span a token is of."""
        if not self.spans:
            return ()
        return ("span", "turn") if self.chats else ("span",)


def read_content(dataset: Dataset) -> Content:
    """Read a dataset once. Where tokens are shuffled, spans have no meaning: there are none."""
    kinds: dict[str, None] = {}
    chats = False

    def noted(examples: Iterable[Example]) -> Iterator[Example]:
        nonlocal chats
        for example in examples:
            kinds.update(dict.fromkeys(span.name for span in example.spans))
            _check(dataset, kinds)
            chats |= bool(example.messages)
            yield example

    columns = column_types(dataset, noted)
    return Content(columns, tuple(kinds), chats) if dataset.shuffle is None else Content(columns)


def _check(dataset: Dataset, kinds: dict[str, None]) -> None:
    if len(kinds) > MOST_KINDS:
        raise DataError(
            f"{dataset.name} has more than {MOST_KINDS} kinds of spans: {', '.join(list(kinds)[: MOST_KINDS + 1])}, … "
            "Attention from each to each is kept, so give some of them the same name"
        )
