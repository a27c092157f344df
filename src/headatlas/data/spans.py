"""Spans: parts of a text that have a part in it, such as the question, the passage and the answer."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["MOST_KINDS", "SPANS", "Span", "read_spans", "spans_fault"]

SPANS = "spans"  # the column of a table
MOST_KINDS = 6  # attention from each kind to each is kept, so their number is squared
NAME = re.compile(r"[^\W\d_]([\w -]{0,22}[\w-])?")
FIELDS = {"name": str, "start": int, "stop": int}
FORM = '{"name": …, "start": …, "stop": …}, with "text": "pair" for the second text'


@dataclass(frozen=True, slots=True)
class Span:
    """Characters from `start` to before `stop` of a text, or of its pair; spans of one kind share their name.

    >>> Span("answer", 3, 8, pair=True).name
    'answer'
    """

    name: str
    start: int
    stop: int
    pair: bool = False
    turn: int | None = None  # number of the message in a chat, from 0

    def __str__(self) -> str:
        return f"{self.name!r} ({self.start} to {self.stop}{' of the pair' if self.pair else ''})"


def read_spans(value: object) -> tuple[Span, ...] | str:
    """The spans in a cell of the column `spans`, also as JSON in a text; or what is wrong with it.

    >>> read_spans([{"name": "tool", "start": 0, "stop": 4}])
    (Span(name='tool', start=0, stop=4, pair=False, turn=None),)
    >>> read_spans([{"name": "tool", "start": 0, "end": 4}])
    'span 0 has no whole number "stop"'
    """
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return "it is a text that is no JSON"
    if not isinstance(value, Sequence) or isinstance(value, str):
        return f"it is {type(value).__name__}, no list"
    read = [_read(number, item) for number, item in enumerate(value)]
    return next((item for item in read if isinstance(item, str)), None) or tuple(
        item for item in read if isinstance(item, Span)
    )


def _read(number: int, item: object) -> Span | str:
    if not isinstance(item, Mapping):
        return f"span {number} is {type(item).__name__}, no object"
    for field, kind in FIELDS.items():
        if not isinstance(item.get(field), kind) or isinstance(item.get(field), bool):
            return f'span {number} has no {"text" if kind is str else "whole number"} "{field}"'
    which = item.get("text")
    if which not in (None, "text", "pair"):
        return f'the "text" of span {number} is {which!r}: it can be "text" or "pair"'
    return Span(item["name"], item["start"], item["stop"], which == "pair")


def spans_fault(spans: Sequence[Span], text: str | None, pair: str | None) -> str | None:
    """What is wrong with the spans of a text and its pair; None if nothing is.

    >>> spans_fault([Span("a", 0, 4), Span("b", 2, 6)], "one two", None)
    "spans 'a' (0 to 4) and 'b' (2 to 6) overlap"
    >>> spans_fault([Span("a", 0, 9)], "one two", None)
    "span 'a' (0 to 9) leaves its text, which has 7 characters"
    >>> spans_fault([Span("a", 3, 4)], "one two", None)
    "span 'a' (3 to 4) is empty"
    """
    for span in spans:
        if not isinstance(span, Span):
            return f"a span is {type(span).__name__}, no Span"
        fault = _fault(span, pair if span.pair else text)
        if fault:
            return fault
    ordered = sorted(spans, key=lambda span: (span.pair, span.start))
    meeting = (two for two in pairwise(ordered) if two[0].pair == two[1].pair and two[1].start < two[0].stop)
    return next((f"spans {first} and {second} overlap" for first, second in meeting), None)


def _fault(span: Span, text: str | None) -> str | None:
    if not NAME.fullmatch(span.name):
        return (
            f"{span.name!r} cannot be the name of a span: use up to 24 letters, digits, spaces, - or _, and begin with "
            "a letter"
        )
    if text is None:
        return f"span {span} is of a text that is not there"
    if not 0 <= span.start <= span.stop <= len(text):
        return f"span {span} leaves its text, which has {len(text):,} characters"
    return None if text[span.start : span.stop].strip() else f"span {span} is empty"
