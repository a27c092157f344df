"""What analyses of heads found, in sentences: every number with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, count, interval, join_list, many, percent

Form = Callable[[float | None], str]
SHOWN = 3  # heads, pairs or relations of a sentence
NOTABLE = 0.1  # of all heads: whose rank is worth a word


class HeadMean(TypedDict):
    """The mean of a measure over texts, for one head."""

    layer: int
    head: int
    mean: float
    low: float | None
    high: float | None


def place(row: HeadMean) -> str:
    """The name of its head.

    >>> place(HeadMean(layer=0, head=2, mean=0.9, low=None, high=None))
    'L0·H2'
    """
    return head_name(row["layer"], row["head"])


def value(row: HeadMean, form: Form = amount) -> str:
    """The mean with its interval.

    >>> value(HeadMean(layer=0, head=2, mean=0.93, low=0.92, high=0.94), percent)
    '93% [92%, 94%]'
    """
    return interval(row["mean"], row["low"], row["high"], form)


def first(parts: Sequence[str], most: int = SHOWN) -> str:
    """The first parts of a list, and how many are left out: none or at least two.

    >>> first(["a", "b", "c", "d", "e"]), first(["a", "b"])
    ('a, b, c, and 2 more', 'a and b')
    """
    rest = len(parts) - most if len(parts) > most + 1 else 0
    return join_list([*parts[: len(parts) - rest], *([f"{count(rest)} more"] if rest else [])])


def attends_line(target: str, rows: Sequence[HeadMean], least: float) -> str:
    """Which heads put over half of their attention on something, or which head puts most on it; else nothing.

    `rows` are all heads, and a largest share below `least` is not worth a sentence.

    >>> rows = [HeadMean(layer=0, head=2, mean=0.93, low=0.92, high=0.94),
    ...         HeadMean(layer=1, head=0, mean=0.6, low=None, high=None)]
    >>> attends_line("the previous token", rows, 0.2)
    '2 heads put over half of their attention on the previous token: L0·H2, 93% [92%, 94%]; L1·H0, 60%'
    >>> attends_line("the next token", [rows[1] | {"mean": 0.3}], 0.2)
    'no head puts over half of its attention on the next token; most: L1·H0, 30%'
    >>> attends_line("the next token", [rows[1] | {"mean": 0.1}], 0.2)
    ''
    """
    ranked = sorted(rows, key=lambda row: -row["mean"])
    if not ranked or ranked[0]["mean"] < least:
        return ""
    over = [row for row in ranked if row["mean"] > 0.5]
    if not over:
        best = ranked[0]
        return f"no head puts over half of its attention on {target}; most: {place(best)}, {value(best, percent)}"
    verb = "puts over half of its" if len(over) == 1 else "put over half of their"
    named = [f"{place(row)}, {value(row, percent)}" for row in over[:SHOWN]]
    rest = [f"and {many(len(over) - SHOWN, 'more head')}"] * (len(over) > SHOWN)
    return f"{many(len(over), 'head')} {verb} attention on {target}: {'; '.join(named + rest)}"


def range_line(label: str, rows: Sequence[HeadMean], form: Form = amount, unit: str = "") -> str:
    """The heads where a measure is highest and lowest.

    >>> rows = [HeadMean(layer=0, head=2, mean=12.3, low=11.6, high=13.4),
    ...         HeadMean(layer=3, head=4, mean=1.2, low=1.1, high=1.3)]
    >>> range_line("effective rank", rows)
    'effective rank: highest in L0·H2, 12 [12, 13]; lowest in L3·H4, 1.2 [1.1, 1.3]'
    """
    if not rows:
        return ""
    ranked = sorted(rows, key=lambda row: -row["mean"])
    of = f" {unit}" if unit else ""
    high, low = (f"in {place(row)}, {value(row, form)}{of}" for row in (ranked[0], ranked[-1]))
    return f"{label}: highest {high}; lowest {low}"


def standing_line(label: str, row: HeadMean, rows: Sequence[HeadMean], form: Form = amount, unit: str = "") -> str:
    """A measure of one head, and where it stands among all heads: its rank at the ends, else beside their median.

    >>> rows = [HeadMean(layer=0, head=head, mean=float(head), low=None, high=None) for head in range(30)]
    >>> standing_line("effective rank", rows[28] | {"low": 27.0, "high": 29.0}, rows)
    'effective rank: 28 [27, 29], 2nd highest of 30 heads'
    >>> standing_line("effective rank", rows[12], rows), standing_line("effective rank", rows[0], rows)
    ('effective rank: 12; the median of all heads is 15', 'effective rank: 0, lowest of 30 heads')
    """
    means = sorted(other["mean"] for other in rows)
    above = sum(mean > row["mean"] for mean in means)
    below = sum(mean < row["mean"] for mean in means)
    text = f"{label}: {value(row, form)}{f' {unit}' if unit else ''}"
    notable = max(1, NOTABLE * len(means))
    if min(above, below) < notable and means[0] < means[-1]:
        rank, end = (above, "highest") if above < below else (below, "lowest")
        return f"{text}, {f'{ordinal(rank + 1)} ' if rank else ''}{end} of {many(len(means), 'head')}"
    return f"{text}; the median of all heads is {form(means[len(means) // 2])}"


def ordinal(number: int) -> str:
    """A place in an order.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{count(number)}{ending}"


def layers_line(what: str, layers: Sequence[tuple[int, float]]) -> str:
    """Layers in which something gets over half of the attention, by the mean over heads.

    >>> layers_line("separators", [(3, 0.61), (4, 0.7)]), layers_line("separators", [])
    ('separators get over half of the attention in layers 3 (61%) and 4 (70%), by the mean over heads', '')
    """
    if not layers:
        return ""
    names = first([f"{layer} ({percent(mean)})" for layer, mean in layers], 6)
    noun = "layer" if len(layers) == 1 else "layers"
    return f"{what} get over half of the attention in {noun} {names}, by the mean over heads"


class Moved(TypedDict):
    """A pair of tokens, and how much a head moves between them."""

    query_token: str
    key_token: str
    moved: float


def pairs_line(pairs: Sequence[Moved]) -> str:
    """The pairs of tokens between which a head moves most.

    >>> pairs_line([Moved(query_token="York", key_token="New", moved=1.234)])
    'moves most between these tokens, query ← key: “York” ← “New” (1.2)'
    """
    if not pairs:
        return ""
    named = [f"“{pair['query_token']}” ← “{pair['key_token']}” ({amount(pair['moved'])})" for pair in pairs]
    return f"moves most between these tokens, query ← key: {', '.join(named)}"


class Near(TypedDict):
    """A head, and its distance from another."""

    layer: int
    head: int
    distance: float


def nearest_line(near: Sequence[Near]) -> str:
    """The heads that attend most alike.

    >>> nearest_line([Near(layer=1, head=3, distance=0.114), Near(layer=1, head=4, distance=0.2)])
    'attends most like L1·H3 (0.11 nats) and L1·H4 (0.20 nats)'
    """
    if not near:
        return ""
    named = [f"{head_name(row['layer'], row['head'])} ({amount(row['distance'])} nats)" for row in near]
    return f"attends most like {join_list(named)}"
