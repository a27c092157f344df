"""Payloads of head t-SNE: a text as each head attends to it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from headatlas.web.api.payloads.base import Payload, PositionScale

Unit = Literal["token", "word"]


class Variant(NamedTuple):
    """What the points of a layout are: with or without special tokens, and tokens or words."""

    special: bool
    unit: Unit


VARIANTS = {  # by their name in addresses
    "tsne": Variant(True, "token"),
    "tsne-words": Variant(True, "word"),
    "tsne-plain": Variant(False, "token"),
    "tsne-plain-words": Variant(False, "word"),
}


class HeadLayout(Payload):
    """The layout of a head: KL of every restart (the lowest is shown), and numbers by which heads are ranked.

    `mass` is the share of attention between different tokens. `activity` is the mean over keys of the largest attention
    from another token. `chain` is the longest chain of strong attention in steps, `chain_mean` the mean length.
    """

    layer: int
    head: int
    kl: list[float | None]
    mass: float
    activity: float
    chain: int
    chain_mean: float
    notes: list[str]
    scale: PositionScale


class StateLayout(Payload):
    """Standard t-SNE of the hidden states after a layer, with the KL of every restart; same kernel as for heads."""

    layer: int
    kl: list[float | None]
    perplexity: float | None
    notes: list[str]
    scale: PositionScale


class Tsne(Payload):
    """The layouts of a text for every head, in one of the `VARIANTS`.

    A word is a run of tokens with the same `Token.word` in the same segment. The position buffer of `heads` holds the
    heads in the order of `heads`, each with the points of its layer; for cross attention all queries, then all keys.
    The position buffer of `states` is in the order of `layers`; a word is represented by the mean of its tokens' hidden
    states.

    The buffer of maximum attention of a layer holds attention (head, key), the largest that each key receives from any
    query, then the query it comes from (code, head, key). Queries and keys are points as well: words are merged and
    special tokens dropped before the maximum is taken, and rows are not normalized again. Activity and chains refer to
    the same points.
    """

    example: int
    special: bool
    unit: Unit
    restarts: int
    seed: int
    strength: float
    heads: list[HeadLayout]
    layers: list[StateLayout]
    remarks: list[str]


class Progress(Payload):
    """How many layouts are finished, heads first, then hidden states, or examples; 0 of 0 if none is computed."""

    done: int
    total: int
