"""Null models in words: how much of a pattern is there without what was learned, or without word order."""

from __future__ import annotations

from collections.abc import Mapping

from headatlas.wording.numbers import count, join_list, many, percent, ratio

NULLS = {  # the kinds of null models
    "untrained": "with random weights",
    "permuted": "with its weights shuffled",
    "shuffled": "with shuffled words",
}
REAL = "real"  # the model itself, in tables that also hold null models
NONE = "no pattern"  # maps that are in the reach of no cluster


def null_shares(shares: Mapping[str, float | None]) -> str:
    """The share of a pattern under each null model.

    >>> null_shares({"untrained": 0.001, "shuffled": 0.034}), null_shares({"untrained": 0})
    ('<1% with random weights, 3% with shuffled words', '0% with random weights')
    """
    return ", ".join(f"{percent(share)} {NULLS[kind]}" for kind, share in shares.items())


def null_pattern(name: str, share: float | None, shares: Mapping[str, float | None]) -> str:
    """A pattern, its share of the maps, and that under each null model.

    >>> null_pattern("previous token", 0.04, {"untrained": 0.001, "shuffled": 0.034})
    'previous token: 4% of maps; <1% with random weights, 3% with shuffled words'
    """
    return f"{name}: {percent(share)} of maps; {null_shares(shares)}"


def null_kept(shares: Mapping[str, float | None]) -> str:
    """How many maps keep their pattern under each null model.

    >>> null_kept({"untrained": 0.02, "shuffled": 0.874})
    'the same head on the same example keeps its pattern: 2% with random weights, 87% with shuffled words'
    """
    return f"the same head on the same example keeps its pattern: {null_shares(shares)}"


def null_heads(heads: int, counts: Mapping[str, int]) -> str:
    """Of how many heads a pattern is the main one and, under each null model, the nearest, however far it is.

    >>> null_heads(17, {"untrained": 0, "shuffled": 15})
    'the main pattern of 17 heads; the nearest one of 0 with random weights, of 15 with shuffled words'
    """
    others = ", ".join(f"of {count(number)} {NULLS[kind]}" for kind, number in counts.items())
    return f"the main pattern of {many(heads, 'head')}; the nearest one {others}"


def null_jobs(heads: int, one_job: Mapping[str, int]) -> str:
    """How many heads have one job under each null model.

    >>> null_jobs(72, {"untrained": 72, "shuffled": 61})
    '72 of 72 with random weights, 61 of 72 with shuffled words'
    """
    return ", ".join(f"{count(number)} of {count(heads)} {NULLS[kind]}" for kind, number in one_job.items())


def null_locality(similarities: Mapping[str, tuple[float | None, float | None]]) -> str:
    """How similar neighbors are under each null model, and all pairs of heads.

    >>> null_locality({"untrained": (0.91, 0.9), "shuffled": (0.3, 0.12)})
    '0.91 (0.90) with random weights, 0.30 (0.12) with shuffled words'
    """
    return ", ".join(
        f"{ratio(neighbors)} ({ratio(pairs)}) {NULLS[kind]}" for kind, (neighbors, pairs) in similarities.items()
    )


def null_similarity(
    neighbors: str,
    similarity: tuple[float | None, float | None],
    similarities: Mapping[str, tuple[float | None, float | None]],
) -> str:
    """How similar neighbors are in the model itself, and under each null model; in brackets, any two heads.

    >>> null_similarity("same layer", (0.28, 0.09), {"untrained": (0.91, 0.9)})
    'similarity of heads of the same layer (of all pairs): 0.28 (0.09); 0.91 (0.90) with random weights'
    """
    what = "the same layer (of all pairs)" if neighbors == "same layer" else f"{neighbors} (of any two layers)"
    values = " (".join(ratio(value) for value in similarity)
    return f"similarity of heads of {what}: {values}); {null_locality(similarities)}"


def null_skipped(kind: str, reason: str) -> str:
    """Why a null model was left out.

    >>> null_skipped("shuffled", "image")
    'the model with shuffled words is left out: it reads images, whose patches cannot be shuffled'
    """
    return f"the model {NULLS[kind]} is left out: {SKIPPED[reason]}"


SKIPPED = {
    "image": "it reads images, whose patches cannot be shuffled",
    "quantized": "its weights are quantized, and can be neither drawn nor shuffled",
    "parameters": "it has too many parameters to hold them in memory twice",
}


def null_result(kinds: list[str], examples: int) -> str:
    """What a result of the stage holds.

    >>> null_result(["untrained", "shuffled"], 64)
    'the model with random weights and with shuffled words, on 64 examples'
    """
    return f"the model {join_list([NULLS[kind] for kind in kinds])}, on {many(examples, 'example')}"
