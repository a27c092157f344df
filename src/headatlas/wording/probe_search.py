"""What a search over heads found, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import interval, many, percent


def condition(conditions: Mapping[str, Sequence[str]], nothing: str) -> str:
    """Conditions as they are typed.

    >>> condition({"upos": ["VERB", "AUX"], "kind": ["number"]}, "any token"), condition({}, "any token")
    ('upos = VERB or AUX, kind = number', 'any token')
    """
    parts = [f"{name} = {' or '.join(values)}" for name, values in conditions.items()]
    return ", ".join(parts) if parts else nothing


def search_line(
    source: Mapping[str, Sequence[str]], target: Mapping[str, Sequence[str]], best: Mapping[str, Any]
) -> str:
    """The head that attends most, beside what even attention would give.

    >>> best = {"layer": 2, "head": 0, "attention": 0.5, "low": 0.4, "high": 0.6, "even": 0.05, "queries": 120,
    ...         "texts": 90}
    >>> search_line({"upos": ["VERB"]}, {"relation": ["obj"]}, best)
    'from upos = VERB to relation = obj, L2·H0 attends most: 50% [40%, 60%] of the attention of such tokens, 5% if it \
were even; 120 tokens in 90 texts'
    >>> search_line({}, {"token": ["xyzzy"]}, best | {"queries": 0})
    'no token can attend from any token to token = xyzzy in these texts'
    """
    between = f"from {condition(source, 'any token')} to {condition(target, 'any token')}"
    if not best["queries"]:
        return f"no token can attend {between} in these texts"
    share = interval(best["attention"], best["low"], best["high"], percent)
    head = head_name(best["layer"], best["head"])
    where = f"{many(best['queries'], 'token')} in {many(best['texts'], 'text')}"
    return (
        f"{between}, {head} attends most: {share} of the attention of such tokens, {percent(best['even'])} if it were "
        f"even; {where}"
    )
