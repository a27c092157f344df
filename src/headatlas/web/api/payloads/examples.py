"""Payloads of examples and custom texts."""

from __future__ import annotations

from headatlas.web.api.payloads.base import Payload


class Examples(Payload):
    """All examples, column by column: `excerpt` is the start of the text, `columns` are those of the dataset."""

    id: list[str]
    excerpt: list[str]
    n_tokens: list[int]
    n_target: list[int]
    window: list[int]
    windows: list[int]
    columns: dict[str, list[str | float | None]]


class Texts(Payload):
    """The full text of every example, for searching."""

    text: list[str]


class Token(Payload):
    """A token: its text, its word (-1 for none), whether it is special, and its segment (0 or 1 of a pair)."""

    text: str
    word: int
    special: bool
    segment: int


class Example(Payload):
    """An example of the atlas, or a custom text: then `example` is -1 and `key` identifies it.

    `tokens` is the input, `target` the input of a decoder next to an encoder. `image`, `pooled`, `full` and `tsne` say
    which of these are available: the image, pooled maps, full maps and head t-SNE. If full maps are not, `note` says
    why.
    """

    example: int
    key: str | None
    id: str
    text: str
    pair: str | None
    window: int
    windows: int
    cut: int
    columns: dict[str, str | float | None]
    tokens: list[Token]
    target: list[Token]
    image: bool
    pooled: bool
    full: bool
    tsne: bool
    note: str


class CustomText(Payload):
    """A custom text, or a pair of texts, for the model to read."""

    text: str
    pair: str | None = None
