"""Where heads rest that have nothing to do, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.numbers import amount, count, interval, p_equation, percent

RESTS = {"separators": "separators", "first": "the first token"}


class Parked(TypedDict):
    """The attention of a head to what it rests on, where its role applies and where it does not."""

    layer: int
    head: int
    applies: float
    otherwise: float
    effect: float
    effect_low: float | None
    effect_high: float | None
    others: float | None


class RoleParking(TypedDict):
    """The heads of a role: how many rest more where it does not apply, beside other heads of their layers."""

    rest: str
    heads: int
    parking: int
    beyond: int
    effect: float
    others: float
    p: float


def rests_line(shares: Mapping[str, float]) -> str:
    """What heads rest on, the largest share first.

    >>> rests_line({"first": 0.46, "separators": 0.03}), rests_line({"first": 0.5})
    ('heads rest on the first token, with 46% of their attention, rather than on separators, with 3%: means over all \
heads', 'heads rest on the first token, with 50% of their attention, the mean over all heads; there are no separators')
    >>> rests_line({})
    ''
    """
    parts = [f"on {RESTS[rest]}, with {percent(share)}" for rest, share in shares.items()]
    if not parts:
        return ""
    if len(parts) > 1:
        return f"heads rest {parts[0]} of their attention, rather than {parts[1]}: means over all heads"
    other = next(name for rest, name in RESTS.items() if rest not in shares)
    none = "there are no separators" if other == RESTS["separators"] else "none can attend to the first token"
    return f"heads rest {parts[0]} of their attention, the mean over all heads; {none}"


def parks_line(called: str, role: RoleParking, heads: Sequence[Parked]) -> str:
    """How many heads with a role attend more to what they rest on where it does not apply.

    >>> row = Parked(layer=17, head=3, applies=0.61, otherwise=0.96, effect=0.29, effect_low=0.26, effect_high=0.32,
    ...              others=0.07)
    >>> parks_line("induction head", RoleParking(rest="first", heads=6, parking=5, beyond=2, effect=0.2, others=0.07,
    ...            p=0.001), [row, row | {"head": 4, "effect": 0.1}])
    'induction head: 5 of 6 attend more to the first token where they have nothing to attend to, and more so than \
other heads of their layer; by 0.20 on average, other heads by 0.070 (p = 0.001); most L17·H3, 96% against 61%; of the \
attention that is not on their keys, 2 of 6 put a larger share there'
    """
    most = max(heads, key=lambda row: row["effect"])
    name, shares = head_name(most["layer"], most["head"]), (percent(most["otherwise"]), percent(most["applies"]))
    numbers = f"by {amount(role['effect'])} on average, other heads by {amount(role['others'])}"
    of_all = f"of {count(role['heads'])}"
    return (
        f"{called}: {count(role['parking'])} {of_all} attend more to {RESTS[role['rest']]} where they have nothing "
        f"to attend to, and more so than other heads of their layer; {numbers} ({p_equation(role['p'])}); most {name}"
        f", {shares[0]} against {shares[1]}; of the attention that is not on their keys, {count(role['beyond'])} "
        f"{of_all} put a larger share there"
    )


def parked_line(called: str, rest: str, row: Parked) -> str:
    """Where a head rests, as a head with a role.

    >>> row = Parked(layer=2, head=9, applies=0.2, otherwise=0.35, effect=0.14, effect_low=0.12, effect_high=0.16,
    ...              others=0.05)
    >>> parked_line("duplicate-token head", "first", row)
    'as duplicate-token head, puts 35% of its attention on the first token where it has nothing to attend to and 20% \
where it has: 0.14 [0.12, 0.16] above chance, other heads of its layer 0.050'
    """
    value = interval(row["effect"], row["effect_low"], row["effect_high"], amount)
    return (
        f"as {called}, puts {percent(row['otherwise'])} of its attention on {RESTS[rest]} where it has nothing to "
        f"attend to and {percent(row['applies'])} where it has: {value} above chance, other heads of its layer "
        f"{amount(row['others'])}"
    )


def nothing_line(few: bool) -> str:
    """Why no head can be compared.

    >>> nothing_line(True), nothing_line(False)
    ('too few texts to test which heads have a role: 20 are needed', 'no head has a role that applies to some tokens \
and not to others')
    """
    if few:
        return "too few texts to test which heads have a role: 20 are needed"
    return "no head has a role that applies to some tokens and not to others"
