"""Clusters in words: what they are called, how large and stable they are, and why they are called so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from headatlas.wording.heads import layers
from headatlas.wording.numbers import amount, count, interval, join_list, many, p_equation, percent, ratio
from headatlas.wording.thresholds import FAIR, STABLE

NOISE = "noise"
MIXED = "mixed"


class Reason(TypedDict):
    """A statistic of a cluster's maps and of other maps of the same texts, with Cliff's delta and its interval."""

    statistic: str
    mean: float | None
    rest: float | None
    delta: float | None
    low: float | None
    high: float | None


class Association(TypedDict):
    """The value of a column that goes with a cluster: maps against those expected, and the corrected p."""

    column: str
    value: str
    ratio: float
    q: float


class Place(TypedDict):
    """Where half of a cluster's maps are: the fewest layers in a row, and the share of its maps in them.

    `layers` is empty where that takes too many layers to mean anything; `present` counts those that have any of it.
    """

    layers: list[int]
    share: float
    present: int
    total: int


def cluster_name(cluster: int, phrases: Sequence[str] | None, distinction: str = "") -> str:
    """What a cluster is called; `distinction` tells it from others of the same phrases, None: not correlated yet.

    >>> cluster_name(4, ["rests on separators"], "sharper"), cluster_name(-1, [])
    ('rests on separators, sharper', 'noise')
    >>> cluster_name(7, []), cluster_name(7, None)
    ('mixed', 'cluster 7')
    """
    if cluster < 0:
        return NOISE
    if phrases is None:
        return f"cluster {cluster}"
    return ", ".join([*(phrases or [MIXED]), *filter(None, [distinction])])


def stability_word(stability: float | None) -> str:
    """How stable a cluster is.

    >>> stability_word(0.9), stability_word(0.7), stability_word(0.3), stability_word(None)
    ('stable', 'fair', 'shaky', 'stability unknown')
    """
    if stability is None or stability != stability:
        return "stability unknown"
    return "stable" if stability >= STABLE else "fair" if stability >= FAIR else "shaky"


def cluster_size(cluster: int, maps: int, share: float, stability: float | None) -> str:
    """How large and how stable a cluster is.

    >>> cluster_size(0, 1204, 0.12, 0.93), cluster_size(-1, 40, 0.01, None)
    ('1,204 maps (12%), stable (0.93)', '40 maps (1%) that belong to no cluster')
    """
    size = f"{many(maps, 'map')} ({percent(share)})"
    if cluster < 0:
        return f"{size} that belong{'s' * (maps == 1)} to no cluster"
    word = stability_word(stability)
    return f"{size}, {word}" + ("" if stability is None or stability != stability else f" ({ratio(stability)})")


def reason(statistic: str, values: Reason) -> str:
    """How clearly a statistic tells a cluster from other maps of the same texts.

    >>> why = Reason(statistic="previous", mean=0.8, rest=0.031, delta=1.0, low=0.99, high=1.0)
    >>> reason("attention to the previous token", why)
    'delta 1.00 [0.99, 1.00] in attention to the previous token'
    """
    return f"delta {interval(values['delta'], values['low'], values['high'])} in {statistic}"


def reasons(labeled: Sequence[tuple[str, Reason]]) -> str:
    """All reasons of a name, each with its statistic in words, in one text.

    >>> why = Reason(statistic="self", mean=0.03, rest=0.02, delta=0.2, low=None, high=None)
    >>> reasons([("attention to the token itself", why)]), reasons([])
    ('delta 0.20 in attention to the token itself', 'nothing to compare with')
    """
    return "; ".join(reason(words, values) for words, values in labeled) or "nothing to compare with"


def association(values: Association) -> str:
    """The value of a column that goes with a cluster.

    >>> association(Association(column="kind", value="question", ratio=1.834, q=0.00002))
    'kind = question: 1.8 times as many maps as expected (q < 0.001)'
    """
    times = f"{amount(values['ratio'])} times as many maps as expected"
    return f"{values['column']} = {values['value']}: {times} ({p_equation(values['q'], 'q')})"


def noise_line(maps: int, share: float) -> str:
    """How many maps are noise.

    >>> noise_line(403, 0.04), noise_line(1, 0.0001)
    ('403 maps (4%) belong to no cluster', '1 map (<1%) belongs to no cluster')
    """
    return f"{many(maps, 'map')} ({percent(share)}) belong{'s' * (maps == 1)} to no cluster"


def place(where: Place) -> str:
    """Where half of a cluster's maps are.

    >>> place(Place(layers=[2], share=0.5, present=3, total=4)), place(Place(layers=[], share=1, present=5, total=6))
    ('50% of it in layer 2', 'spread over 5 of 6 layers')
    """
    if where["layers"]:
        return f"{percent(where['share'])} of it in {layers(where['layers'])}"
    some = "all" if where["present"] == where["total"] else f"{where['present']} of"
    return f"spread over {some} {many(where['total'], 'layer')}"


def clusters_sentence(
    sizes: Sequence[tuple[int, int, float | None]], largest: str, share: float, where: Place | None
) -> str:
    """All clusters at once: from the number, maps and stability of each, and the name and place of the largest.

    >>> at = Place(layers=[2], share=0.5, present=3, total=4)
    >>> clusters_sentence([(0, 60, 0.9), (1, 30, 0.7), (-1, 10, None)], "previous token", 0.6, at)
    '90 of 100 maps fall into 2 patterns (1 stable, 1 fair); the largest, “previous token”, holds 60%, 50% of it in \
layer 2'
    """
    maps = sum(size[1] for size in sizes)
    real = [size for size in sizes if size[0] >= 0]
    if not real or where is None:
        return f"All {many(maps, 'map')} are noise: no pattern was found"
    words = [stability_word(stability) for _, _, stability in real]
    tally = ", ".join(f"{count(words.count(word))} {word}" for word in ("stable", "fair", "shaky") if word in words)
    inside = sum(size[1] for size in real)
    some = f"{count(inside)} of {many(maps, 'map')}" if inside < maps else many(maps, "map")
    patterns = many(len(real), "pattern") + (f" ({tally})" if tally else "")
    return f"{some} fall into {patterns}; the largest, “{largest}”, holds {percent(share)}, {place(where)}"


def factor_line(
    v: float | None, low: float | None, high: float | None, ami: float | None, p: float | None, significant: float
) -> str:
    """How far clusters follow a head, a layer or a column: effect sizes first; p is None where nothing is tested.

    >>> factor_line(0.88, 0.85, 0.9, 0.67, 0.001, 0.05), factor_line(0.02, None, None, 0.0, 0.4, 0.05)
    ('V 0.88 [0.85, 0.90], AMI 0.67, p = 0.001', 'V 0.02, AMI 0.00, p = 0.40: no more than chance')
    """
    text = f"V {interval(v, low, high)}, AMI {ratio(ami)}"
    if p is None:
        return text
    return f"{text}, {p_equation(p)}" + ("" if p < significant else ": no more than chance")


def untested(why: str) -> str:
    """Why a factor cannot be tested.

    >>> untested("one value")
    'one value only: nothing to test'
    """
    return UNTESTED[why]


UNTESTED = {
    "one cluster": "one cluster only: nothing to test",
    "one value": "one value only: nothing to test",
    "one label per head": "each head has one label by construction: nothing to test",
    "same in all examples": "labels are the same in all examples: nothing to test",
    "few groups": "too few texts to test",
    "same maps": "all maps are the same: nothing to test",
}


def jobs_line(heads: int, one_job: int, threshold: float) -> str:
    """How many heads have one job.

    >>> jobs_line(72, 64, 0.75), jobs_line(1, 1, 0.75)
    ('64 of 72 heads have one job: at least 75% of their maps lie in one cluster', \
'1 of 1 head has one job: at least 75% of its maps lie in one cluster')
    """
    verb, possessive = ("has", "its") if heads == 1 else ("have", "their")
    return (
        f"{count(one_job)} of {many(heads, 'head')} {verb} one job: at least {percent(threshold)} of {possessive} maps "
        "lie in one cluster"
    )


def locality_line(
    neighbors: str,
    similarity: float | None,
    all_pairs: float | None,
    p: float | None,
    significant: float,
    few: str = "",
) -> str:
    """Whether heads of the same layer, or of adjacent layers, are alike; `few`: that there are too few texts to test.

    >>> locality_line("same layer", 0.28, 0.09, 0.001, 0.05)
    'heads are more alike than any two: similarity 0.28, all pairs 0.09, p = 0.001'
    >>> locality_line("adjacent layers", 0.1, 0.09, 0.4, 0.05)
    'heads are no more alike than in any other order of layers: similarity 0.10, any two layers 0.09, p = 0.40'
    """
    if similarity is None or all_pairs is None or (p is None and not few):
        return "too few layers to tell"
    same = neighbors == "same layer"
    others, pairs = ("any two", "all pairs") if same else ("in any other order of layers", "any two layers")
    numbers = f"similarity {ratio(similarity)}, {pairs} {ratio(all_pairs)}"
    if p is None:
        return f"{numbers}; {few}"
    return f"heads are {'' if p < significant else 'no '}more alike than {others}: {numbers}, {p_equation(p)}"


def named_clusters(names: Sequence[str], most: int = 3) -> str:
    """A number of clusters and what the first are called.

    >>> named_clusters(["spreads evenly", "next token"]), named_clusters([])
    ('2 clusters: “spreads evenly” and “next token”', 'no clusters: all maps are noise')
    """
    if not names:
        return "no clusters: all maps are noise"
    rest = len(names) - most
    shown = [f"“{name}”" for name in names[:most]] + ([f"{rest} more"] if rest > 0 else [])
    return f"{many(len(names), 'cluster')}: {join_list(shown)}"
