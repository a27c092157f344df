"""Every statistic of an attention map, declared once.

`collect` computes what is declared here, in this order; names of clusters, figures, the docs and the page read labels,
units and phrases from here. Nothing else is imported, so that the build of the page can read it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headatlas import phrases
from headatlas.optional_statistics import OPTIONAL, named_span
from headatlas.phrases import Naming
from headatlas.sources import (
    Beyond,
    Columns,
    Combined,
    Explained,
    Foreign,
    Mark,
    Offset,
    Reach,
    Relation,
    RowMean,
    ToSeparators,
    Window,
)
from headatlas.statistic import BOTH
from headatlas.statistic import MASS as MASS
from headatlas.statistic import Modality as Modality
from headatlas.statistic import Statistic as Statistic

NUMBERS = {2: "two", 3: "three", 4: "four"}
EXISTS = "over the queries for which that key exists"


def _offset(by: int) -> Statistic:
    """Attention to a token two to four places away."""
    number, side, sign = NUMBERS[abs(by)], "back" if by < 0 else "ahead", "−" if by < 0 else "+"
    return Statistic(
        f"offset{by:+d}", f"attention {number} tokens {side}", f"A[i, i{sign}{abs(by)}] {EXISTS}", Offset(by),
        short=f"{number} tokens {side}", group="offset", about="position", square_only=True,
        rank=abs(by) + (1 if by < 0 else 4),
        high=Naming(
            f"{number} tokens {side}", target=f"the token {number} {side}",
            says=f"each token attends to the one {number} places {'before' if by < 0 else 'after'} it",
        ),
    )  # fmt: skip


def _window(nearest: int, farthest: int | None) -> Statistic:
    """Attention to tokens more than four places away."""
    side, word = ("back", "before") if nearest < 0 else ("ahead", "after")
    first, last = abs(nearest), None if farthest is None else abs(farthest)
    places = f"{first} to {last}" if last else f"{first} or more"
    return Statistic(
        f"{side}_{first}_{last}" if last else f"{side}_{first}", f"attention {places} tokens {side}",
        f"mass on keys {places} places {word} the query, other than the first token and special tokens",
        Window(nearest, farthest), short=f"{places} tokens {side}", group="window", about="position", square_only=True,
    )  # fmt: skip


def _beyond(of: str, label: str) -> Statistic:
    """Attention to a kind of token that distance does not explain."""
    return Statistic(
        f"{of}_beyond", f"attention {label}, beyond distance",
        f"`{of}` less what it would be if all weights at the same distance were equal; without the first token and "
        "special tokens",
        Beyond(of), short=f"{label}, beyond distance", group=f"{of} beyond", about="tokens",
        remark="0 if distance alone decides", square_only=True,
    )  # fmt: skip


SPECIAL = Statistic(  # one statistic per special token, see `special`
    "special:{token}", "attention to {token}", "mass on a special token, summed over its occurrences", Mark(),
    short="to {token}", group="{token}", about="tokens", modalities=BOTH,
    high=Naming("rests on {token}", target="{token}", says="attention rests on {token}"),
)  # fmt: skip
# special tokens that share a group with other statistics or have their own phrase: group, phrase, rank
SINKS: dict[str, tuple[str, Naming, int]] = {
    "[SEP]": ("separator", phrases.SEPARATORS, 9),
    "</s>": ("separator", phrases.SEPARATORS, 10),
    "[CLS]": ("first", Naming("rests on [CLS]", target="[CLS]", says="attention rests on [CLS]"), 12),
    "<s>": ("first", phrases.FIRST, 13),
    "[REG]": ("register", Naming("rests on registers", target="registers", says="attention rests on registers"), 15),
}

STATISTICS: tuple[Statistic, ...] = (
    _offset(-4),
    _offset(-3),
    _offset(-2),
    Statistic(
        "previous", "attention to the previous token", f"A[i, i−1] {EXISTS}",
        Offset(-1), short="to the previous token", group="offset", about="position", square_only=True,
        high=phrases.PREVIOUS_TOKEN, rank=0,
    ),
    Statistic(
        "self", "attention to the token itself", "A[i, i]",
        Offset(0), short="to the token itself", group="offset", about="position", modalities=BOTH, square_only=True,
        high=phrases.TOKEN_ITSELF, rank=2,
    ),
    Statistic(
        "next", "attention to the next token", f"A[i, i+1] {EXISTS}",
        Offset(1), short="to the next token", group="offset", about="position", square_only=True,
        high=phrases.NEXT_TOKEN, rank=1,
    ),
    _offset(2),
    _offset(3),
    _offset(4),
    Statistic(
        "first", "attention to the first token", "mass on the first token",
        Mark(), short="to the first token", group="first", about="position",
        high=phrases.FIRST, rank=14,
    ),
    SPECIAL,
    Statistic(
        "punctuation", "attention to full stops and commas", "mass on full stops and commas",
        Mark(), short="to full stops and commas", group="punctuation", about="tokens",
        high=phrases.PUNCTUATION, rank=16,
    ),
    Statistic(
        "sep_to_sep", "attention from separators to separators",
        "mass on separators (`sep_token`, else `eos_token`), over queries that are separators",
        ToSeparators("separators"), short="from separators to separators", group="separator", about="tokens",
    ),
    Statistic(
        "rest_to_sep", "attention from other tokens to separators", "mass on separators, over all other queries",
        ToSeparators("rest"), short="from other tokens to separators", group="separator", about="tokens",
        high=phrases.SEPARATORS, rank=11,
    ),
    Statistic(
        "same_token", "attention to the same token elsewhere", "mass on other places with the query's token",
        Relation(), short="to the same token elsewhere", group="same", about="tokens",
        high=phrases.SAME_WORD_ELSEWHERE, rank=17,
    ),
    Statistic(
        "induction", "attention to what followed the same token",
        "mass on tokens that follow another occurrence of the query's token (j ≤ i in causal layers)",
        Relation(), short="to what followed the same token", group="induction", about="tokens", square_only=True,
        high=phrases.INDUCTION, rank=18,
    ),
    Statistic(  # names no cluster: in texts of one sentence it is all attention that does not go to special tokens
        "same_sentence", "attention within the sentence",
        "mass on tokens of the query's sentence, itself included; a sentence ends with its segment, or after `.`, `!` "
        "or `?` and the closing quotes or brackets that follow; special tokens are in no sentence",
        Relation(), short="within the sentence", group="sentence", about="position", square_only=True,
    ),
    Statistic(
        "same_row", "attention to other patches of the row", "mass on other patches of the query's row",
        Relation(), short="to other patches of the row", group="row", about="position", modalities=("image",),
        high=phrases.SAME_ROW, rank=19,
    ),
    Statistic(
        "same_column", "attention to other patches of the column", "mass on other patches of the query's column",
        Relation(), short="to other patches of the column", group="column", about="position", modalities=("image",),
        high=phrases.SAME_COLUMN, rank=20,
    ),
    Statistic(
        "grid_distance", "distance of attention on the grid",
        "Σ A·(distance from patch i to patch j) / Σ A over keys that are patches, over queries that are patches",
        RowMean("DISTANCE"),
        short="distance on the grid", group="reach", about="position", unit="patches", modalities=("image",),
        high=phrases.DISTANT_PATCHES,
        low=phrases.NEARBY_PATCHES,
        least=0.5,
    ),
    Statistic(
        "entropy", "entropy of attention", "−Σ A ln A",
        RowMean("ENTROPY"), short="entropy", group="breadth", about="shape", unit="nats", modalities=BOTH,
    ),
    Statistic(
        "entropy_relative", "relative entropy of attention",
        "−Σ A ln A / ln(number of allowed keys), over queries with more than one",
        RowMean("ENTROPY_RELATIVE"),
        short="relative entropy", group="breadth", about="shape", unit="1: as even as can be", modalities=BOTH,
        high=phrases.EVEN, low=phrases.SHARP, rank=24, least=0.1,
    ),
    Statistic(
        "largest", "largest weight", "largest A[i, j] of a row",
        RowMean("LARGEST"), short="largest weight", group="breadth", about="shape", modalities=BOTH,
        high=replace(phrases.SHARP, bound=0.3), low=phrases.WIDE, rank=25, least=0.1,
    ),
    Statistic(
        "distance", "distance of attention", "Σ A·abs(j−i)",
        RowMean("DISTANCE", "tokens"),
        short="distance", group="reach", about="position", unit="tokens", square_only=True,
    ),
    Statistic(
        "signed_distance", "signed distance of attention", "Σ A·(j−i)",
        RowMean("SIGNED", "tokens"),
        short="signed distance", group="direction", about="position", unit="tokens", remark="below 0 looks back",
        square_only=True,
    ),
    Statistic(
        "reach", "distance of attention against even attention",
        "Σ A·abs(j−i) / Σ A, divided by the same for even attention; without the first token and special tokens",
        Reach("distance"), short="distance against even attention", group="reach", about="position",
        unit="1: as far as even attention", square_only=True,
        high=replace(phrases.DISTANT_TOKENS, bound=1.2), low=replace(phrases.NEARBY_TOKENS, bound=0.75), least=0.1,
    ),
    Statistic(
        "direction", "direction of attention",
        "mass on keys after the query less mass on keys before it, as a share of both; without the first token and "
        "special tokens",
        Reach("direction"), short="direction", group="direction", about="position",
        unit="−1: all attention is to tokens before, 1: to tokens after", square_only=True,
        high=replace(phrases.LOOKS_AHEAD, bound=0.35), low=replace(phrases.LOOKS_BACK, bound=-0.35), least=0.1,
    ),
    Statistic(  # even attention has a mean distance of a third
        "distance_share", "relative distance of attention",
        "Σ A·abs(j−i) / n; in cross attention the distance between relative positions",
        RowMean("DISTANCE", "share"),
        short="relative distance", group="reach", about="position", unit="share of the length",
        high=phrases.DISTANT_TOKENS,
        low=phrases.NEARBY_TOKENS,
    ),
    Statistic(
        "signed_distance_share", "signed relative distance of attention",
        "Σ A·(j−i) / n; in cross attention the difference of relative positions",
        RowMean("SIGNED", "share"),
        short="signed relative distance", group="direction", about="position", unit="share of the length",
        remark="below 0 looks back",
        high=phrases.LOOKS_AHEAD,
        low=phrases.LOOKS_BACK,
    ),
    Statistic(
        "position_deviation", "spread of attention", "standard deviation of j",
        RowMean("DEVIATION", "tokens"),
        short="spread", group="breadth", about="shape", unit="standard deviation in tokens",
    ),
    _window(-33, None),
    _window(-9, -32),
    _window(-5, -8),
    _window(5, 8),
    _window(9, 32),
    _window(33, None),
    _beyond("same_token", "to the same token elsewhere"),
    _beyond("induction", "to what followed the same token"),
    _beyond("same_sentence", "within the sentence"),
    _beyond("punctuation", "to full stops and commas"),
    Statistic(
        "by_distance", "share of attention that distance explains",
        "Σ of squared weights if each is replaced by the mean weight at its distance, as a share of Σ A²; without the "
        "first token and special tokens",
        Explained("distance"), short="explained by distance", group="explained", about="shape",
        unit="1: distance decides", square_only=True,
    ),
    Statistic(
        "by_key", "share of attention that the key explains",
        "Σ of squared weights if each is replaced by the mean weight of its key, as a share of Σ A²",
        Explained("key"), short="explained by the key", group="explained", about="shape",
        unit="1: all queries attend alike", modalities=BOTH,
    ),
    Statistic(
        "same_few", "attention to the same few tokens",
        "what keys get from all queries beyond the mean of the keys up to 8 places around them and beyond chance "
        "(2·√ΣA² of the key); without the first token, special tokens, full stops and commas",
        Columns(), short="to the same few tokens", group="few", about="tokens",
        high=phrases.SAME_FEW, rank=18,
    ),
    *OPTIONAL,
    # windows of offsets; a window names a cluster only if no part of it has most of the mass
    Statistic(
        "just_before", "attention to the four tokens before", "sum of the four offsets before the query",
        Combined(("offset-4", "offset-3", "offset-2", "previous")),
        short="to the four tokens before", group="offset", about="position", square_only=True,
        high=phrases.TOKENS_JUST_BEFORE, rank=21,
    ),
    Statistic(
        "just_after", "attention to the four tokens after", "sum of the four offsets after the query",
        Combined(("next", "offset+2", "offset+3", "offset+4")),
        short="to the four tokens after", group="offset", about="position", square_only=True,
        high=phrases.TOKENS_JUST_AFTER, rank=22,
    ),
    Statistic(
        "around", "attention to the token itself and four on each side", "sum of all nine offsets",
        Combined(("offset-4", "offset-3", "offset-2", "previous", "self", "next", "offset+2", "offset+3", "offset+4")),
        short="to the token itself and four on each side", group="offset", about="position", square_only=True,
        high=phrases.NEIGHBORING_TOKENS, rank=23,
    ),
)  # fmt: skip
COMBINED: dict[str, Combined] = {
    declared.name: declared.source for declared in STATISTICS if isinstance(declared.source, Combined)
}
_BY_NAME = {declared.name: declared for declared in STATISTICS}
_PREFIX = SPECIAL.name.format(token="")


def statistic(name: str) -> Statistic:
    """The declaration of a statistic, by its name on the `stat` axis.

    >>> statistic("first").label, statistic("special:[SEP]").label, statistic("entropy").unit
    ('attention to the first token', 'attention to [SEP]', 'nats')
    >>> statistic("span:question>answer").label
    'attention from the question to the answer'

    A name that is not declared, from an atlas of another version, is its own label.

    >>> statistic("unheard_of").label
    'unheard_of'
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.startswith(_PREFIX):
        return special(name.removeprefix(_PREFIX))
    return named_span(name) or Statistic(name, name, "", Foreign(), short=name, group=name, about="position")


def special(token: str) -> Statistic:
    """The statistic of a special token.

    >>> special("[MASK]").name, special("[MASK]").high.phrase, special("[SEP]").high.phrase
    ('special:[MASK]', 'rests on [MASK]', 'rests on separators')
    """

    def fill(template: str) -> str:
        return template.format(token=token)

    assert SPECIAL.high is not None
    high = SPECIAL.high
    default = Naming(fill(high.phrase), target=fill(high.target), says=fill(high.says))
    group, naming, rank = SINKS.get(token, (fill(SPECIAL.group), default, SPECIAL.rank))
    name, label, short = fill(SPECIAL.name), fill(SPECIAL.label), fill(SPECIAL.short)
    return replace(SPECIAL, name=name, label=label, short=short, group=group, high=naming, rank=rank)


def usual(names: Sequence[str]) -> int:
    """How many of the statistics of an atlas every atlas of the model would have; the others come after them.

    >>> usual(["first", "entropy", "span:user>user"])
    2
    """
    return sum(not statistic(name).only for name in names)


def collected(modality: Modality) -> tuple[Statistic, ...]:
    """What `collect` computes for all data with models of a modality, in the order of the `stat` axis.

    `SPECIAL` stands for one statistic per special token of the model.

    >>> [entry.name for entry in collected("image")][:4]
    ['self', 'special:{token}', 'same_row', 'same_column']
    """
    declared = (entry for entry in STATISTICS if modality in entry.modalities and not entry.only)
    return tuple(entry for entry in declared if not isinstance(entry.source, Combined))
