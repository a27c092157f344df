"""What gradients by attention say, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from headatlas.wording.numbers import amount, interval, many

LOSSES = {
    "next": "the loss is that of the model's own head, for the next token",
    "masked": "the loss is that of the model's own head, for masked tokens",
    "pooled": "the model has no head for tokens: the loss is how far the direction of its pooled output moves if 15% "
    "of the tokens are masked",
}


def loss_line(loss: str) -> str:
    """What gradients are of."""
    return LOSSES[loss]


def parking_line(correlation: Mapping[str, float] | None) -> str:
    """Whether attention to separators matters less where there is more of it.

    >>> parking_line({"rank": -0.6, "low": -0.7, "high": -0.4, "heads": 72})
    'the more a head attends to separators, the less it matters to the loss how much: rank correlation −0.60 \
[−0.70, −0.40] over 72 heads'
    """
    if correlation is None:
        return ""
    value = interval(correlation["rank"], correlation["low"], correlation["high"], amount)
    more, less = ("more", "less") if correlation["rank"] < 0 else ("more", "more")
    sure = correlation["low"] > 0 or correlation["high"] < 0
    says = f"the {more} a head attends to separators, the {less} it matters to the loss how much"
    text = says if sure else "attention to separators and how much it matters to the loss do not go together"
    return f"{text}: rank correlation {value} over {many(int(correlation['heads']), 'head')}"
