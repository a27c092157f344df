"""Tokens that heads promote, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, interval, join_list

SHOWN = 4  # tokens of a sentence


class TokenScore(TypedDict):
    """How much a head raises or lowers the score of a token."""

    layer: int
    head: int
    kind: str
    token: str
    score: float
    low: float | None
    high: float | None


class PairTokens(TypedDict):
    """A pair of tokens between which a head writes, and the tokens that this promotes."""

    query_token: str
    key_token: str
    tokens: list[str]


def tokens_line(rows: Sequence[TokenScore], named: bool = False) -> str:
    """The tokens that a head promotes and suppresses, the first with its score.

    >>> row = TokenScore(layer=5, head=1, kind="promoted", token=" sea", score=0.8, low=0.7, high=0.9)
    >>> tokens_line([row, row | {"token": " tide"}, row | {"kind": "suppressed", "token": " the", "score": -0.2}], True)
    'L5·H1 promotes “ sea” (0.80 [0.70, 0.90]) and “ tide”, and suppresses “ the” (−0.20 [0.70, 0.90])'
    """
    parts = []
    for kind, verb in (("promoted", "promotes"), ("suppressed", "suppresses")):
        listed = [row for row in rows if row["kind"] == kind][:SHOWN]
        named_tokens = [f"“{row['token']}”" for row in listed]
        for row in listed[:1]:
            named_tokens[0] += f" ({interval(row['score'], row['low'], row['high'], amount)})"
        parts += [f"{verb} {join_list(named_tokens)}"] if listed else []
    who = f"{head_name(rows[0]['layer'], rows[0]['head'])} " if named else ""
    return f"{who}{', and '.join(parts)}"


def pair_line(pair: PairTokens) -> str:
    """The tokens that the strongest pair of a head promotes.

    >>> pair_line(PairTokens(query_token=" low", key_token=" tide", tokens=[" water", " sea"]))
    'writes most from “ tide” to “ low”, which promotes “ water” and “ sea”'
    """
    promoted = join_list([f"“{token}”" for token in pair["tokens"][:SHOWN]])
    return f"writes most from “{pair['key_token']}” to “{pair['query_token']}”, which promotes {promoted}"
