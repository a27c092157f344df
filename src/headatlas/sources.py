"""Where a statistic of a map comes from: what the kernel of `collect` computes for it, or what it is combined from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Offset:
    """Attention to the key `by` places after the query."""

    by: int


@dataclass(frozen=True, slots=True)
class RowMean:
    """The mean over queries of a number that the kernel computes for each row; `sum` is its constant in the kernel.

    The kernel measures lengths in tokens, but in shares of the text where queries and keys are different tokens;
    `length` says which of the two is wanted.
    """

    sum: str
    length: Literal["tokens", "share"] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """Attention to the keys that belong to each query, found by the statistic's function in `stages.collect.layout`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Attention to the same keys from all queries, found by the statistic's function in `stages.collect.layout`."""


@dataclass(frozen=True, slots=True)
class ToSeparators:
    """Attention to separators, from separators or from all other tokens."""

    queries: Literal["separators", "rest"]


@dataclass(frozen=True, slots=True)
class Window:
    """Attention to keys at some distances, `nearest` to `farthest` places after (below 0: before) the query.

    The first token and special tokens do not count: attention rests on them at any distance. None: any farther.
    """

    nearest: int
    farthest: int | None


@dataclass(frozen=True, slots=True)
class Beyond:
    """How much a statistic `of` tokens exceeds what the head's attention by distance would give it on the same text.

    A head that attends by distance alone has 0 on every text, whatever its tokens are. The first token and special
    tokens do not count.
    """

    of: str


@dataclass(frozen=True, slots=True)
class Explained:
    """Share of the sum of squared weights that is left if each weight is replaced by a mean over the map."""

    by: Literal["key", "distance"]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far attention goes, against even attention, or how much more of it goes ahead than back.

    The first token and special tokens do not count: attention that rests on them is far away by accident.
    """

    of: Literal["distance", "direction"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Attention to keys that many queries attend to more than to the keys around them: vertical lines of a map.

    The first token, special tokens, full stops and commas do not count: other statistics measure them.
    """


@dataclass(frozen=True, slots=True)
class BetweenSpans:
    """Attention from the tokens of one kind of span to the tokens of another; for data that have spans."""

    query: str
    key: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What attention moves: weights times the length of what each value becomes after the output projection.

    Shares of it by where it comes from, which add up to 1, or its `length`; collected on request.
    """

    of: Literal["first", "special", "self", "others", "length"]


@dataclass(frozen=True, slots=True)
class Combined:
    """Other statistics, added and subtracted. Not stored; `correlate` computes it."""

    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreign:
    """A column that this version does not compute, of an atlas made by another one."""


Source = (
    Offset
    | RowMean
    | Relation
    | Mark
    | ToSeparators
    | Window
    | Beyond
    | Explained
    | Reach
    | Columns
    | BetweenSpans
    | Moved
    | Combined
    | Foreign
)
