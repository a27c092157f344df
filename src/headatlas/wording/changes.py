"""What the input changes, in words: heads that change with a column, and what head, layer and columns explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, count, interval, join_list, many, p_equation, percent, ratio
from headatlas.wording.patterns import Head


class Changed(TypedDict):
    """A head that changes with a column: the share of its variation that the column explains, with its interval."""

    layer: int
    head: int
    explained: float
    low: float | None
    high: float | None
    q: float


class Shares(TypedDict):
    """Shares of maps with a pattern: if a column has a value, and on other texts. The interval is of the difference."""

    share: float
    otherwise: float
    low: float | None
    high: float | None


class Switched(Shares):
    """A head that switches to a pattern, and the shares of its maps."""

    layer: int
    head: int
    q: float


class Contrast(TypedDict):
    """A statistic in which some `heads` change most: its means for the values where it is highest and lowest."""

    heads: Sequence[Head]
    statistic: str
    high: float | None
    high_value: str
    low: float | None
    low_value: str


SHOWN = 3  # heads


def changes_line(
    column: str, label: str, heads: Sequence[Changed], contrast: Contrast | None, more: bool = False
) -> str:
    """The heads that change with a column, each with the share of its variation that the column explains.

    `more`: others were mentioned before.

    >>> heads = [Changed(layer=18, head=6, explained=0.74, low=0.7, high=0.79, q=0.001),
    ...          Changed(layer=20, head=1, explained=0.7, low=None, high=None, q=0.001)]
    >>> why = Contrast(heads=heads, statistic="attention to the same token elsewhere", high=0.83, high_value="repeated",
    ...                low=0.021, low_value="plain")
    >>> changes_line("kind", "kind", heads, why)
    '2 heads change with kind: L18·H6 (74% [70%, 79%]) and L20·H1 (70%); their attention to the same token elsewhere \
is 0.83 if kind = repeated, 0.021 if kind = plain'
    >>> changes_line("repeated", "repeated words", heads[1:], None)
    '1 head changes with repeated words: L20·H1 (70%)'
    >>> changes_line("repeated", "repeated words", heads[1:] * 5, None, more=True)
    '5 more heads change with repeated words: L20·H1 (70%), L20·H1 (70%), L20·H1 (70%), and 2 more'
    """
    verb = "changes" if len(heads) == 1 else "change"
    shares = [f" ({interval(head['explained'], head['low'], head['high'], percent)})" for head in heads]
    names = [head_name(head["layer"], head["head"]) + share for head, share in zip(heads, shares, strict=True)]
    text = f"{many(len(heads), 'more head' if more else 'head')} {verb} with {label}: {listed_heads(names)}"
    if contrast is None:
        return text
    whose = "its" if len(heads) == 1 else "their"
    if len(contrast["heads"]) < len(heads):
        whose = f"in {join_list([head_name(head['layer'], head['head']) for head in contrast['heads']])}"
    means = (contrast["high"], contrast["high_value"], contrast["low"], contrast["low_value"])
    return f"{text}; {whose} {changed_line(contrast['statistic'], column, *means)}"


def listed_heads(names: Sequence[str]) -> str:
    """The first heads, and how many are left out: none or at least two."""
    rest = len(names) - SHOWN if len(names) > SHOWN + 1 else 0
    return join_list([*names[: len(names) - rest], *([f"{count(rest)} more"] if rest else [])])


def switches_line(column: str, value: str, pattern: str, heads: Sequence[Switched], mean: Shares) -> str:
    """The heads that switch to a pattern for a value of a column, and the mean over them.

    >>> heads = [Switched(layer=18, head=6, share=0.9, otherwise=0.0, low=0.8, high=0.96, q=0.001),
    ...          Switched(layer=20, head=1, share=0.76, otherwise=0.042, low=0.6, high=0.8, q=0.001)]
    >>> mean = Shares(share=0.83, otherwise=0.021, low=0.7, high=0.88)
    >>> switches_line("kind", "repeated", "induction", heads, mean)
    '2 heads switch to “induction” if kind = repeated: L18·H6 and L20·H1; 83% of their maps against 2%, difference \
0.81 [0.70, 0.88]'
    >>> switches_line("kind", "repeated", "induction", heads[:1], heads[0] | {"low": None})
    '1 head switches to “induction” if kind = repeated: L18·H6; 90% of its maps against 0%'
    """
    verb, whose = ("switches", "its") if len(heads) == 1 else ("switch", "their")
    names = listed_heads([head_name(head["layer"], head["head"]) for head in heads])
    text = f"{many(len(heads), 'head')} {verb} to “{pattern}” if {column} = {value}: {names}"
    return f"{text}; {switched(mean, whose)}"


def switched(shares: Shares, whose: str = "its") -> str:
    """The shares of a pattern, where heads switch to it and elsewhere.

    >>> switched(Shares(share=0.9, otherwise=0.05, low=0.8, high=0.96))
    '90% of its maps against 5%, difference 0.85 [0.80, 0.96]'
    """
    text = f"{percent(shares['share'])} of {whose} maps against {percent(shares['otherwise'])}"
    if shares["low"] is None or shares["high"] is None:
        return text
    return f"{text}, difference {interval(shares['share'] - shares['otherwise'], shares['low'], shares['high'])}"


def changed_line(
    statistic: str, column: str, high: float | None, high_value: str, low: float | None, low_value: str
) -> str:
    """The means of a statistic for the values of a column where it is highest and lowest.

    >>> changed_line("attention to the previous token", "style", 0.9996, "plain", 0.88, "complicated")
    'attention to the previous token is >0.99 if style = plain, 0.88 if style = complicated'
    """
    high_text, low_text = (
        f"{amount(mean)} if {column} = {value}" for mean, value in ((high, high_value), (low, low_value))
    )
    return f"{statistic} is {high_text}, {low_text}"


def same_columns_line(labels: Sequence[str], label: str) -> str:
    """That the effects of some columns cannot be told apart from that of another.

    >>> same_columns_line(["punctuation", "capital letters"], "kind")
    'punctuation and capital letters go with kind: what changes with them cannot be told apart'
    """
    return (
        f"{join_list(labels)} go{'es' * (len(labels) == 1)} with {label}: what changes with them cannot be told apart"
    )


def no_changes_line(labels: Sequence[str], explained: float, significant: float, texts: int) -> str:
    """That no head changes with any of the columns, on so many independent texts.

    >>> no_changes_line(["kind", "digits"], 0.1, 0.05, 140)
    'no head changes with kind and digits: none explains 10% of the variation of a head with q below 0.05; 140 texts'
    >>> no_changes_line([], 0.1, 0.05, 140)
    'no column to compare heads with'
    """
    if not labels:
        return "no column to compare heads with"
    reason = f"none explains {percent(explained)} of the variation of a head with q below {ratio(significant)}"
    return f"no head changes with {join_list(labels)}: {reason}; {many(texts, 'text')}"


def few_texts(groups: int, least: int) -> str:
    """That there are too few independent texts for a test.

    >>> few_texts(2, 20)
    'too few texts to test (2, 20 are needed)'
    """
    return f"too few texts to test ({count(groups)}, {count(least)} are needed)"


def more_columns_line(columns: int, command: str) -> str:
    """That there are more columns with which heads change, and where they are.

    >>> more_columns_line(2, "headatlas table x.atlas changes")
    'heads also change with 2 more columns: headatlas table x.atlas changes'
    """
    return f"heads also change with {many(columns, 'more column')}: {command}"


def more_findings_line(findings: int, command: str) -> str:
    """That there is more of the same kind, and where it is.

    >>> more_findings_line(2, "headatlas table x.atlas span_changes")
    'and 2 more: headatlas table x.atlas span_changes'
    """
    return f"and {count(findings)} more: {command}"


BUILT_IN = "partly built in: the vectors come from a network that was trained to tell heads apart"


def explained_line(
    explained: float | None,
    low: float | None,
    high: float | None,
    p: float | None,
    within_heads: bool,
    significant: float,
    matters: float,
) -> str:
    """How much of the variation of maps a head, a layer, an example or a column explains, chance taken off.

    >>> explained_line(0.71, 0.69, 0.74, 0.001, False, 0.05, 0.01)
    'explains 71% [69%, 74%] of the variation of all maps, p = 0.001'
    >>> explained_line(0.002, 0.001, 0.003, 0.001, True, 0.05, 0.01)
    'explains less than 1% of the variation within heads: too little to matter'
    >>> explained_line(0.002, -0.01, 0.01, 0.4, True, 0.05, 0.01)
    'explains no more of the variation within heads than chance (p = 0.40)'

    Without a test, p is None, and nothing is claimed.

    >>> explained_line(0.71, None, None, None, False, 0.05, 0.01)
    'explains 71% of the variation of all maps'
    """
    whole = "the variation within heads" if within_heads else "the variation of all maps"
    if p is None:
        return f"explains {interval(explained, low, high, percent)} of {whole}"
    if not p < significant:
        return f"explains no more of {whole} than chance ({p_equation(p)})"
    if explained is None or explained < matters:
        return f"explains less than {percent(matters)} of {whole}: too little to matter"
    return f"explains {interval(explained, low, high, percent)} of {whole}, {p_equation(p)}"
