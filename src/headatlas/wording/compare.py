"""Comparisons of models in words: which heads changed, in what, how sure that is, and when heads take up their jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from headatlas.wording.heads import head_name
from headatlas.wording.heads import layers as layer_names
from headatlas.wording.numbers import amount, count, interval, join_list, many, percent, ratio
from headatlas.wording.thresholds import MOSTLY, SHARES

SHOWN = 3  # heads or patterns of a sentence
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
WITHOUT = {  # why there are no patterns
    "no clustering": "the first atlas has no clustering",
    "heads": "it is a clustering of heads, not of maps",
    "noise": "all maps are noise",
    "encoder": "the encoder of its features is not stored in the atlas, and was not given",
}


class Moved(TypedDict):
    """A head, how far its maps moved, and what seeds alone give."""

    layer: int
    head: int
    shift: float
    shift_low: float | None
    shift_high: float | None
    noise: float | None


class Difference(TypedDict):
    """The statistic in which a head changed most, and its patterns; None for what is not known."""

    statistic: str | None  # its label
    before: float | None
    after: float | None
    difference_low: float | None
    difference_high: float | None
    pattern_before: str | None
    pattern_after: str | None
    outside: bool  # most maps after are beyond the radius of their pattern


def compare_result(first: str, steps: Sequence[str], noise: int, examples: int) -> str:
    """What a result of the stage compares.

    >>> compare_result("base", ["tuned"], 2, 140)
    'base → tuned, on 140 examples, beside two seeds'
    >>> compare_result("0", ["100", "200", "300"], 0, 1)
    '0 → 100 → 200 → 300, on 1 example'
    >>> compare_result("0", [str(step) for step in range(1, 9)], 1, 40)
    '0 → 1 → … → 8, on 40 examples, beside one seed'
    """
    shown = [*steps] if len(steps) <= SHOWN else [steps[0], "…", steps[-1]]
    beside = f", beside {_seeds(noise)}" if noise else ""
    return f"{' → '.join([first, *shown])}, on {many(examples, 'example')}{beside}"


def _seeds(number: int) -> str:
    return f"{NUMBERS.get(number, count(number))} seed{'s' * (number > 1)}"


def changed_heads(changed: int, heads: int) -> str:
    """How many heads changed more than seeds do.

    >>> changed_heads(8, 72), changed_heads(0, 72)
    ('8 of 72 heads changed more than between seeds', 'none of 72 heads changed more than between seeds')
    """
    number = count(changed) if changed else "none"
    return f"{number} of {many(heads, 'head')} changed more than between seeds"


def moved_head(row: Moved) -> str:
    """How far the maps of a head moved.

    >>> moved_head(Moved(layer=5, head=3, shift=0.412, shift_low=0.38, shift_high=0.44, noise=0.061))
    'L5·H3, shift 0.41 [0.38, 0.44] against 0.061 between seeds'
    >>> moved_head(Moved(layer=5, head=3, shift=0.0312, shift_low=None, shift_high=None, noise=None))
    'L5·H3, shift 0.031'
    """
    text = f"{head_name(row['layer'], row['head'])}, shift {_shift(row['shift'], row['shift_low'], row['shift_high'])}"
    return text if row["noise"] is None else f"{text} against {amount(row['noise'])} between seeds"


def _shift(value: float | None, low: float | None, high: float | None) -> str:
    return interval(value, low, high, amount)


def headline(changed: int | None, heads: int, layers: Sequence[int], most: Moved, step: str = "") -> str:
    """The sentence that leads: how many heads changed, in which layers, and the one that moved most.

    `step` is that of a series.

    >>> most = Moved(layer=5, head=3, shift=0.412, shift_low=None, shift_high=None, noise=0.061)
    >>> headline(8, 72, [4, 5], most)
    '8 of 72 heads changed more than between seeds, all in layers 4–5; most of all L5·H3, shift 0.41 against 0.061 \
between seeds'
    >>> headline(0, 72, [], most)
    'none of 72 heads changed more than between seeds; most of all L5·H3, shift 0.41 against 0.061 between seeds'
    >>> headline(None, 72, [], most | {"noise": None})
    'L5·H3 moved most of 72 heads: shift 0.41'
    >>> headline(0, 72, [], most, "1000")[:48]
    'at 1000, none of 72 heads changed more than betw'
    """
    at = f"at {step}, " if step else ""
    if changed is None:
        shift = _shift(most["shift"], most["shift_low"], most["shift_high"])
        return f"{at}{head_name(most['layer'], most['head'])} moved most of {many(heads, 'head')}: shift {shift}"
    where = f", all in {layer_names(layers)}" if layers else ""
    return f"{at}{changed_heads(changed, heads)}{where}; most of all {moved_head(most)}"


def change(row: Difference) -> str:
    """What a head does differently: its pattern, if that changed, and the statistic that changed most.

    >>> numbers = {"before": 0.62, "after": 0.11, "difference_low": -0.55, "difference_high": -0.47}
    >>> change(Difference(statistic="attention to [CLS]", pattern_before="rests on [CLS]",
    ...                   pattern_after="spreads evenly", outside=False, **numbers))
    'from “rests on [CLS]” to “spreads evenly”; attention to [CLS] from 0.62 to 0.11 (difference −0.51 [−0.55, −0.47])'
    >>> change(Difference(statistic=None, before=None, after=None, difference_low=None, difference_high=None,
    ...                   pattern_before="rests on [CLS]", pattern_after="previous token", outside=True))
    'from “rests on [CLS]” to no pattern of the first model, nearest to “previous token”'
    """
    parts = []
    if row["pattern_after"] is not None and (row["outside"] or row["pattern_after"] != row["pattern_before"]):
        target = f"“{row['pattern_after']}”"
        target = f"no pattern of the first model, nearest to {target}" if row["outside"] else target
        parts.append(f"from “{row['pattern_before']}” to {target}")
    before, after = row["before"], row["after"]
    if row["statistic"] is not None and before is not None and after is not None:
        change_of = interval(after - before, row["difference_low"], row["difference_high"], amount)
        parts.append(f"{row['statistic']} from {amount(before)} to {amount(after)} (difference {change_of})")
    return "; ".join(parts)


def head_change(moved: Moved, difference: Difference) -> str:
    """A head, how far it moved, and in what.

    >>> row = Moved(layer=5, head=3, shift=0.4, shift_low=None, shift_high=None, noise=None)
    >>> head_change(row, Difference(statistic="entropy", before=1.0, after=2.0, difference_low=None,
    ...             difference_high=None, pattern_before=None, pattern_after=None, outside=False))
    'L5·H3, shift 0.40: entropy from 1 to 2.0 (difference 1)'
    """
    what = change(difference)
    return f"{moved_head(moved)}: {what}" if what else moved_head(moved)


def no_seeds() -> str:
    """That shifts are not tested.

    >>> no_seeds()
    'no seeds to compare with: heads are ranked by shift, and how much of it a change of seed would give is not known'
    """
    return "no seeds to compare with: heads are ranked by shift, and how much of it a change of seed would give is \
not known"


class LayerShift(TypedDict):
    """The mean shift of the heads of a layer."""

    layer: int
    shift: float
    low: float | None
    high: float | None
    changed: int | None


def layers_line(rows: Sequence[LayerShift]) -> str:
    """Where heads moved most and least, and in which layers heads changed.

    >>> rows = [LayerShift(layer=0, shift=0.01, low=0.009, high=0.012, changed=0),
    ...         LayerShift(layer=5, shift=0.2, low=0.19, high=0.21, changed=7)]
    >>> layers_line(rows)
    'most in layer 5, mean shift 0.20 [0.19, 0.21], and least in layer 0, 0.010 [0.0090, 0.012]; changed heads are in \
layer 5 (7)'
    """
    ranked = sorted(rows, key=lambda row: -row["shift"])
    if len(ranked) < 2:
        return ""
    ends = [_shift(row["shift"], row["low"], row["high"]) for row in (ranked[0], ranked[-1])]
    most, least = (layer_names([row["layer"]]) for row in (ranked[0], ranked[-1]))
    text = f"most in {most}, mean shift {ends[0]}, and least in {least}, {ends[1]}"
    where = [f"{layer_names([row['layer']])} ({count(row['changed'])})" for row in rows if row["changed"]]
    return f"{text}; changed heads are in {join_list(where)}" if where else text


def pattern_change(
    name: str, before: float, after: float, low: float | None, high: float | None, outside: float | None = None
) -> str:
    """The share of a pattern before and after; and how many of the maps after are beyond the radius of its cluster.

    >>> pattern_change("rests on [CLS]", 0.18, 0.11, -0.08, -0.06, 0.05)
    '“rests on [CLS]” from 18% to 11% of maps [−8%, −6%]'
    >>> pattern_change("rests on [CLS]", 0.18, 0.4, None, None, 0.97)
    '“rests on [CLS]” from 18% to 40% of maps, 97% of these only nearest to it'
    """
    ends = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
    far = f", {percent(outside)} of these only nearest to it" if outside is not None and outside > MOSTLY else ""
    return f"“{name}” from {percent(before)} to {percent(after)} of maps{ends}{far}"


def patterns_line(changes: Sequence[str], clusters: int) -> str:
    """The patterns whose shares change, the most first.

    >>> patterns_line(["“a” from 18% to 11% of maps"], 8)
    '1 of 8 patterns changes its share: “a” from 18% to 11% of maps'
    >>> patterns_line([], 8)
    'no share of 8 patterns changes by more than 1%'
    """
    if not changes:
        return f"no share of {many(clusters, 'pattern')} changes by more than {percent(SHARES)}"
    rest = [f"{count(len(changes) - SHOWN)} more"] * (len(changes) > SHOWN)
    verb = "changes its share" if len(changes) == 1 else "change their shares"
    return f"{count(len(changes))} of {count(clusters)} patterns {verb}: {'; '.join([*changes[:SHOWN], *rest])}"


def jobs_taken_up(heads: int, by_step: Mapping[str, int]) -> str:
    """How many heads take up what they do at the end, and from which step on.

    >>> jobs_taken_up(72, {"100": 12, "1000": 31})
    '43 of 72 heads take up what they do at the end: 12 from 100 on, 31 from 1000 on'
    >>> jobs_taken_up(72, {})
    'no head of 72 takes up anything that the first model does not do'
    >>> jobs_taken_up(72, {"100": 1})
    '1 of 72 heads takes up what it does at the end: 1 from 100 on'
    """
    if not by_step:
        return f"no head of {count(heads)} takes up anything that the first model does not do"
    steps = ", ".join(f"{count(number)} from {label} on" for label, number in by_step.items())
    total = sum(by_step.values())
    what = "takes up what it does" if total == 1 else "take up what they do"
    return f"{count(total)} of {many(heads, 'head')} {what} at the end: {steps}"


def job(layer: int, head: int, statistic: str, values: tuple[float, float], step: str | None) -> str:
    """What a head does at the end that it did not do at the beginning, and from which step on.

    >>> job(0, 2, "attention to the previous token", (0.04, 0.81), "100")
    'L0·H2: attention to the previous token from 0.040 to 0.81, from 100 on'
    """
    text = f"{head_name(layer, head)}: {statistic} from {amount(values[0])} to {amount(values[1])}"
    return text if step is None else f"{text}, from {step} on"


def matches_line(heads: int, matched: int, nearest: int, distance: float, null_distance: float) -> str:
    """How heads were matched by what they do, and how good that is.

    >>> matches_line(72, 60, 51, 0.12, 0.85)
    'heads are matched by what they do: 60 of 72, 51 of them with the nearest head of all; mean distance 0.12, against \
0.85 to heads of the same depth'
    """
    matches = f"{count(matched)} of {count(heads)}, {count(nearest)} of them with the nearest head of all"
    far = f"mean distance {ratio(distance)}, against {ratio(null_distance)} to heads of the same depth"
    return f"heads are matched by what they do: {matches}; {far}"


def without_patterns(reason: str) -> str:
    """Why patterns are not compared.

    >>> without_patterns("no clustering")
    'patterns are not compared: the first atlas has no clustering'
    """
    return f"patterns are not compared: {WITHOUT[reason]}"


def other_tokens() -> str:
    """That maps are not compared, since tokens differ.

    >>> other_tokens()
    'the models read different tokens, so that maps are not compared, only statistics and patterns'
    """
    return "the models read different tokens, so that maps are not compared, only statistics and patterns"
