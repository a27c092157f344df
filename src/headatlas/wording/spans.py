"""Attention between spans, in words: the heads in which it changes with a column."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.wording.changes import Changed, Contrast, changed_line, listed_heads
from headatlas.wording.heads import head_name
from headatlas.wording.numbers import interval, join_list, many, percent


def span_changes_line(column: str, label: str, heads: Sequence[Changed], contrast: Contrast) -> str:
    """The heads in which a statistic changes with a column, and its means in the first of them.

    >>> heads = [Changed(layer=3, head=5, explained=0.22, low=0.1, high=0.35, q=0.001),
    ...          Changed(layer=4, head=1, explained=0.2, low=None, high=None, q=0.001)]
    >>> why = Contrast(heads=heads[:1], statistic="attention from the question to the passage", high=0.31,
    ...                high_value="true", low=0.22, low_value="false")
    >>> span_changes_line("answerable", "answerable", heads, why)
    'attention from the question to the passage changes with answerable in 2 heads: L3·H5 (22% [10%, 35%]) and L4·H1 \
(20%); in L3·H5 it is 0.31 if answerable = true, 0.22 if answerable = false'
    """
    shares = [interval(head["explained"], head["low"], head["high"], percent) for head in heads]
    names = [f"{head_name(head['layer'], head['head'])} ({share})" for head, share in zip(heads, shares, strict=True)]
    means = (contrast["high"], contrast["high_value"], contrast["low"], contrast["low_value"])
    where = join_list([head_name(head["layer"], head["head"]) for head in contrast["heads"]])
    return (
        f"{contrast['statistic']} changes with {label} in {many(len(heads), 'head')}: {listed_heads(names)}; "
        f"in {where} {changed_line('it', column, *means)}"
    )
