"""What the server sends of head t-SNE: a text as each head reads it. See `payloads` for how buffers are read."""

from __future__ import annotations

from typing import Literal

from headatlas.web.api.payloads import Frame, Payload


class HeadLayout(Payload):
    """A head's layout: KL of every restart (the least is shown), and what makes the head worth looking at.

    `mass` is the share of attention that goes from one token to another. `activity` is the mean over keys of the
    largest attention from another token. `chain` is the longest chain of strong attention, in steps; `chain_mean` the
    mean.
    """

    layer: int
    head: int
    kl: list[float | None]
    mass: float
    activity: float
    chain: int
    chain_mean: float
    notes: list[str]
    frame: Frame


class StateLayout(Payload):
    """Standard t-SNE of the hidden states after a layer, with the KL of every restart; made as the heads' are."""

    layer: int
    kl: list[float | None]
    perplexity: float | None
    notes: list[str]
    frame: Frame


class Tsne(Payload):
    """A text laid out as every head reads it.

    Points are tokens (`unit`), all of them (`special`), at `Example.tsne`: a path that ends in `tsne.json`. Beside it,
    on a server only, lie `tsne-plain.json` without special tokens, `tsne-words.json` with words in place of tokens, and
    `tsne-plain-words.json`; the buffers of each lie in the folder of its name, without the ending. A word is what
    follows one another with the same `Token.word` in the same segment.

    `positions` is a buffer of positions: the heads in the order of `heads`, each with the points of its layer; of cross
    attention all queries, then all keys. `states` is such a buffer in the order of `layers`; of a word it is the mean
    of its tokens' hidden states that is laid out. At `maximum` with LAYER filled in is a buffer of a layer: attention
    (head, key), the largest that each key gets from any query, then which query gives it (code, head, key). Queries and
    keys are points too: words are made and special tokens dropped before the largest is taken, and rows are not scaled
    again. Activity and chains are of the same points.
    """

    example: int
    special: bool
    unit: Literal["token", "word"]
    restarts: int
    seed: int
    strength: float
    heads: list[HeadLayout]
    layers: list[StateLayout]
    remarks: list[str]
    positions: str
    states: str
    maximum: str


class Progress(Payload):
    """How many layouts are made, of heads first, then of hidden states; 0 of 0 if none is being made."""

    done: int
    total: int
