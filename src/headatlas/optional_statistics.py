"""Statistics that only some atlases have: between spans, if the data have any, and of what heads move, on request.

They come after all others, no encoder reads them, and no cluster is named after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from headatlas.sources import BetweenSpans, Moved
from headatlas.statistic import BOTH, Statistic

SPAN = Statistic(  # one statistic per pair of kinds of spans, see `span`
    "span:{query}>{key}", "attention from the {query} to the {key}",
    "mass on tokens of the second kind of span, over queries of the first; special tokens are of no span",
    BetweenSpans("{query}", "{key}"), short="from the {query} to the {key}", group="spans", about="spans",
    only="spans",
)  # fmt: skip
_PREFIX, _TO, _ = SPAN.name.replace("{query}", "{key}").split("{key}")


def span(query: str, key: str) -> Statistic:
    """The statistic of two kinds of spans.

    >>> span("answer", "answer").label, span("user", "assistant").short
    ('attention from the answer to itself', 'from the user to the assistant')
    """

    def fill(template: str) -> str:
        itself = template.replace("the {key}", "itself") if query == key else template
        return itself.format(query=query, key=key)

    name = SPAN.name.format(query=query, key=key)
    return replace(SPAN, name=name, label=fill(SPAN.label), short=fill(SPAN.short), source=BetweenSpans(query, key))


def named_span(name: str) -> Statistic | None:
    """The statistic of two kinds of spans that has a name; None if it is the name of something else.

    >>> named_span("span:question>answer").label, named_span("previous")
    ('attention from the question to the answer', None)
    """
    if not name.startswith(_PREFIX) or name.count(_TO) != 1:
        return None
    return span(*name.removeprefix(_PREFIX).split(_TO))


def between_spans(kinds: Sequence[str]) -> tuple[Statistic, ...]:
    """The statistics of each kind of span to each, in the order of the `stat` axis."""
    return tuple(span(query, key) for query in kinds for key in kinds)


WEIGHT = "w = A[i, j]·‖v_j W_O‖, with the head's rows W_O of the output projection"


def _share(of: Literal["first", "special", "self", "others"], label: str, where: str) -> Statistic:
    """Share of what a head moves, by where it comes from."""
    return Statistic(
        f"norm:{of}", f"share moved from {label}", f"share of Σ w from {where}; {WEIGHT}", Moved(of),
        short=f"from {label}", group="norms", about="norms", unit="share of what is moved", modalities=BOTH,
        square_only=of == "self", only="norms",
    )  # fmt: skip


NORMS = (
    _share("first", "the first token", "the first token"),
    _share("special", "special tokens", "special tokens other than the first token"),
    _share("self", "the token itself", "the query's token, if it is neither the first nor special"),
    _share("others", "all other tokens", "all other keys"),
    Statistic(
        "norm:length", "attention times length", f"Σ w; {WEIGHT}", Moved("length"), short="attention times length",
        group="norms", about="norms", unit="norm", modalities=BOTH, only="norms",
    ),
)  # fmt: skip
OPTIONAL = (SPAN, *NORMS)
