"""Heads and layers in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TypedDict

from headatlas.wording.numbers import join_list, many, percent

NOWHERE = "no particular layer"


class HeadShare(TypedDict):
    """A head of a cluster, and the share of the head's maps that lie in it."""

    layer: int
    head: int
    share: float


def head_name(layer: int, head: int) -> str:
    """A head.

    >>> head_name(3, 10)
    'L3·H10'
    """
    return f"L{layer}·H{head}"


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in order, runs joined.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in runs)


def layers(numbers: Sequence[int]) -> str:
    """The layers of a cluster; none: it is spread over the model.

    >>> layers([3, 4, 5]), layers([4]), layers([])
    ('layers 3–5', 'layer 4', 'no particular layer')
    """
    return f"layer{'s' * (len(numbers) > 1)} {ranges(numbers)}" if numbers else NOWHERE


def _parts(heads: Sequence[HeadShare], most: int, shares: bool) -> tuple[list[str], int]:
    """The first heads as text, and how many are left out: none or at least two."""
    shown = len(heads) if len(heads) <= most + 1 else most
    names = [
        head_name(head["layer"], head["head"]) + (f" ({percent(head['share'])})" if shares else "")
        for head in heads[:shown]
    ]
    return names, len(heads) - shown


def head_list(heads: Sequence[HeadShare], most: int = 5, *, shares: bool = True) -> str:
    """The first `most` heads of a cluster, with their shares, and how many more there are.

    >>> heads = [HeadShare(layer=0, head=head, share=0.99) for head in range(4)]
    >>> head_list(heads, 2), head_list(heads[:1], shares=False), head_list([])
    ('L0·H0 (99%), L0·H1 (99%), and 2 more', 'L0·H0', '')
    """
    names, rest = _parts(heads, most, shares)
    return join_list([*names, f"{rest} more"] if rest else names)


def head_lines(heads: Sequence[HeadShare], lines: int, width: int) -> list[str]:
    """As many heads as fit on `lines` lines of `width` characters, and how many more there are.

    >>> head_lines([HeadShare(layer=0, head=head, share=0.99) for head in range(5)], 1, 32)
    ['L0·H0 (99%), and 4 more']
    """
    for shown in range(len(heads), -1, -1):
        rest = len(heads) - shown
        names = [f"{head_name(head['layer'], head['head'])}\u00a0({percent(head['share'])})" for head in heads[:shown]]
        text = ", ".join([*names, *([f"and\u00a0{rest}\u00a0more"] if rest else [])])
        wrapped = textwrap.wrap(text, width)
        if len(wrapped) <= lines:
            return [line.replace("\u00a0", " ") for line in wrapped]
    return []


def whose(heads: Sequence[HeadShare], mostly: float, most: int = 3, *, shares: bool = False) -> str:
    """Which heads show the pattern; a cluster with at least the share `mostly` is the main pattern of a head.

    >>> heads = [HeadShare(layer=0, head=2, share=0.8), HeadShare(layer=2, head=0, share=0.7)]
    >>> whose(heads, 0.5), whose(heads, 0.9, shares=True), whose([], 0.5)
    ('the main pattern of L0·H2 and L2·H0', 'more frequent than expected in L0·H2 (80%) and L2·H0 (70%)', \
'in no particular head')
    """
    if not heads:
        return "in no particular head"
    names, rest = _parts(heads, most, shares)
    text = join_list([*names, many(rest, "more head")] if rest else names)
    return f"the main pattern of {text}" if heads[0]["share"] >= mostly else f"more frequent than expected in {text}"
