"""Statistics in plain words."""

from __future__ import annotations

PLAIN = {
    "previous": "attention to the previous token",
    "self": "attention to the token itself",
    "next": "attention to the next token",
    "first": "attention to the first token",
    "punctuation": "attention to full stops and commas",
    "same_token": "attention to the same token elsewhere",
    "induction": "attention to what followed the same token",
    "induction_only": "attention to what followed the same token, beyond the next one",
    "just_before": "attention to the four tokens before",
    "just_after": "attention to the four tokens after",
    "around": "attention to the token itself and four on each side",
    "sep_to_sep": "attention from separators to separators",
    "rest_to_sep": "attention from other tokens to separators",
    "same_row": "attention to other patches of the row",
    "same_column": "attention to other patches of the column",
    "entropy": "entropy of attention",
    "entropy_relative": "relative entropy of attention",
    "largest": "largest weight",
    "distance": "distance of attention",
    "signed_distance": "signed distance of attention",
    "distance_share": "relative distance of attention",
    "signed_distance_share": "signed relative distance of attention",
    "grid_distance": "distance of attention on the grid",
    "position_deviation": "spread of attention",
}
UNITS = {
    "entropy": "nats",
    "entropy_relative": "1: as even as can be",
    "distance": "tokens",
    "signed_distance": "tokens; below 0 looks back",
    "distance_share": "share of the length",
    "signed_distance_share": "share of the length; below 0 looks back",
    "grid_distance": "patches",
    "position_deviation": "standard deviation in tokens",
}


def statistic(name: str) -> str:
    """A statistic in plain words.

    >>> statistic("first"), statistic("special:[SEP]"), statistic("offset-2")
    ('attention to the first token', 'attention to [SEP]', 'attention two tokens back')
    """
    if name.startswith("special:"):
        return f"attention to {name.removeprefix('special:')}"
    if name.startswith("offset"):
        number = {"2": "two", "3": "three", "4": "four"}.get(name[-1], name[-1])
        return f"attention {number} tokens {'back' if '-' in name else 'ahead'}"
    return PLAIN.get(name, name)


def unit(name: str) -> str:
    """What a statistic is measured in."""
    return UNITS.get(name, "share of attention")
