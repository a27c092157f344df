"""What pairs of heads have in common, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, interval, p_equation


class SameLayer(TypedDict):
    """Mean distances of two heads of one layer and of different layers, and the test of the difference."""

    within: float | None
    between: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None


def same_layer_line(test: SameLayer, significant: float) -> str:
    """Whether heads of one layer attend more alike.

    >>> test = SameLayer(within=0.3, between=0.42, difference=0.12, low=0.11, high=0.13, p=0.001)
    >>> same_layer_line(test, 0.05)
    'heads of one layer attend more alike than heads of different layers: 0.30 against 0.42 nats, difference 0.12 \
[0.11, 0.13], p = 0.001'
    >>> same_layer_line(test | {"p": 0.4}, 0.05)
    'heads of one layer attend no more alike than heads of different layers: 0.30 against 0.42 nats, p = 0.40'
    """
    if test["within"] is None or test["p"] is None:
        return ""
    means = f"{amount(test['within'])} against {amount(test['between'])} nats"
    if test["p"] >= significant:
        what = "attend no more alike than heads of different layers"
        return f"heads of one layer {what}: {means}, {p_equation(test['p'])}"
    difference = interval(test["difference"], test["low"], test["high"], amount)
    what = "attend more alike than heads of different layers"
    return f"heads of one layer {what}: {means}, difference {difference}, {p_equation(test['p'])}"


def ends_line(first: tuple[int, int], second: tuple[int, int], distance: float, end: str) -> str:
    """The two heads that are most alike, or most different.

    >>> ends_line((0, 1), (3, 4), 0.021, "most alike")
    'the two heads that attend most alike are L0·H1 and L3·H4: 0.021 nats'
    """
    return f"the two heads that attend {end} are {head_name(*first)} and {head_name(*second)}: {amount(distance)} nats"


def alone_line(head: tuple[int, int], distance: float, pairs: Sequence[float]) -> str:
    """The head that is farthest from its nearest head.

    >>> alone_line((0, 2), 0.5, [0.1, 0.2, 0.3])
    'L0·H2 attends like no other head: its nearest is 0.50 nats away, the median of all pairs is 0.20'
    """
    middle = sorted(pairs)[len(pairs) // 2]
    what = f"its nearest is {amount(distance)} nats away, the median of all pairs is {amount(middle)}"
    return f"{head_name(*head)} attends like no other head: {what}"
