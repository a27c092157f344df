"""Cases to look at: for each relation, words where its best head is right and where it is wrong, drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.numeric.words import strongest, word_maps
from headatlas.stages.probe.dependencies import NOT_IN_ALL, UP, unpacked
from headatlas.stages.probe.source import Source
from headatlas.wording.probe_syntax import ALL

EACH = 6  # right cases of a relation, and as many wrong ones

WHOLE, REAL = pa.int32(), pa.float64()
CASES = pa.schema([
    ("relation", pa.string()), ("right", pa.bool_()), ("example", pa.int64()), ("query", WHOLE), ("gold", WHOLE),
    ("choice", WHOLE), ("weight", REAL), ("gold_weight", REAL),
])  # fmt: skip


def case_table(source: Source, rows: pa.Table, ranked: list[dict[str, Any]], seed: int) -> pa.Table:
    """For each ranked relation some cases of its best head: which word it looks for, and which one it attends to most.

    Words are counted from 0. The maps of these sentences are computed again, since only the choices of one head per
    relation are of interest.
    """
    drawn = [case for row in ranked for case in _drawn(source, rows, row, seed)]
    wanted = sorted({case["example"] for case in drawn})
    by_example: dict[int, list[dict[str, Any]]] = {}
    for case in drawn:
        by_example.setdefault(case["example"], []).append(case)
    for example in source.maps(wanted) if wanted else ():
        assert example.encoded is not None  # a treebank has texts
        for case in by_example[example.number]:
            maps = example.maps[case["layer"]][case["head"]]
            between = word_maps(maps, example.encoded.source.word, case["words"])
            case |= _chosen(between, case["query"], case["gold"])
    return pa.Table.from_pylist([{name: case[name] for name in CASES.names} for case in drawn], schema=CASES)


def _drawn(source: Source, rows: pa.Table, ranked: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Right and wrong cases of the best head of a relation, before its choices are known."""
    heads = source.heads
    relation = np.array(rows["relation"].to_pylist(), object).astype(str)
    of_relation = ~np.isin(relation, NOT_IN_ALL) if ranked["relation"] == ALL else relation == ranked["relation"]
    places = np.flatnonzero(of_relation)
    up = ranked["direction"] == UP
    hits = unpacked(rows["found"].take(pa.array(places)), len(heads))
    right = hits[:, 0 if up else 1, heads.index((ranked["layer"], ranked["head"]))]
    rng = np.random.default_rng(seed)
    cases = []
    for expected in (True, False):
        chosen = rng.permutation(places[right == expected])[:EACH]
        for row in rows.take(pa.array(np.sort(chosen))).to_pylist():
            word, above = row["word"], row["word"] + row["offset"]
            ends = {"query": word, "gold": above} if up else {"query": above, "gold": word}
            head = {"layer": ranked["layer"], "head": ranked["head"]}
            cases.append({"relation": ranked["relation"], "right": expected, **head, **ends}
                         | {"example": row["example"], "words": row["words"]})  # fmt: skip
    return cases


def _chosen(between: NDArray[np.float64], query: int, gold: int) -> dict[str, Any]:
    """The word that is attended to most, and the attention to it and to the one that is looked for."""
    choice = int(strongest(between)[query])
    weight = float(between[query, choice]) if choice >= 0 else 0.0
    return {"choice": choice, "weight": weight, "gold_weight": float(between[query, gold])}
