"""What the server sends of head t-SNE: a text as each head reads it. See `payloads` for how buffers are read."""

from __future__ import annotations

from headatlas.web.payloads import Frame, Payload


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

    `positions` is a buffer of positions: the heads in the order of `heads`, each with the points of its layer. Points
    are tokens; of cross attention all queries, then all keys. `states` is such a buffer in the order of `layers`. At
    `maximum` with LAYER filled in is a buffer of a layer: the largest attention over its heads (query, key), then which
    head has it (code, query, key).
    """

    example: int
    restarts: int
    seed: int
    strength: float
    heads: list[HeadLayout]
    layers: list[StateLayout]
    remarks: list[str]
    positions: str
    states: str
    maximum: str
