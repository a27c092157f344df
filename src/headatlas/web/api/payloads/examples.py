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


class ComputedColumn(Payload):
    """A column that is computed from the texts: `label` names it in a sentence, `definition` says what it holds."""

    name: str
    label: str
    definition: str
    values: list[str | float | None]


class Computed(Payload):
    """What follows from the examples: columns computed from their texts, and which of them have one source.

    Examples of one source have the same number in `group`: windows of one text, and examples with the same value of
    `group_column`, if the dataset declares one.
    """

    columns: list[ComputedColumn]
    group: list[int]
    group_column: str | None


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

    `tokens` is the input, `target` the input of a decoder next to an encoder. `image`, `pooled`, `full`, `tsne` and
    `vectors` say which of these are available: the image, pooled maps, full maps, head t-SNE, queries and keys. If full
    maps are not, `note` says why.
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
    vectors: bool
    note: str


class CustomText(Payload):
    """A custom text, or a pair of texts, for the model to read."""

    text: str
    pair: str | None = None


class TextPatterns(Payload):
    """The patterns of all maps of a custom text, given by the rule of a clustering as to the maps of the atlas.

    `labels` (layer, head) holds clusters, -1 for noise, null where there is no head. `far` (layer, head) says which
    maps are farther from the center of their cluster than 95 % of its maps in the atlas. If maps cannot be labeled,
    both are empty, and `note` says why.
    """

    labels: list[list[int | None]]
    far: list[list[bool]]
    note: str


class TextStatistics(Payload):
    """The statistics of all maps of a custom text: `values` (layer, head, statistic), by `names`."""

    names: list[str]
    values: list[list[list[float | None]]]
