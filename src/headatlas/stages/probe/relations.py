"""Relations of a treebank: the best head and the best offset of each, chosen on one half and scored on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.stages.probe.cases import case_table
from headatlas.stages.probe.choices import LEAST, cross_fitted, halves, shares
from headatlas.stages.probe.dependencies import DOWN, NOT_IN_ALL, UP, unpacked
from headatlas.stages.probe.measures import PLACE
from headatlas.stages.probe.source import Source
from headatlas.wording.probe_syntax import ALL

OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
DIRECTIONS = (UP, DOWN)

WHOLE, REAL, TEXT = pa.int32(), pa.float64(), pa.string()
SCORED = [(f"{name}{end}", REAL) for name in ("accuracy", "baseline", "gain") for end in ("", "_low", "_high")]
CHOSEN = [("offset", WHOLE), ("other_layer", WHOLE), ("other_head", WHOLE), ("other_direction", TEXT)]
RELATIONS = pa.schema([("relation", TEXT), ("cases", WHOLE), *PLACE, ("direction", TEXT), *SCORED, *CHOSEN])
SYNTAX = pa.schema([("relation", TEXT), *PLACE, ("direction", TEXT), ("cases", WHOLE), ("accuracy", REAL)])


@dataclass(frozen=True)
class Cases:
    """Words with their relation: which heads and offsets find the other end, by sentence."""

    hits: NDArray[np.bool_]  # (case, candidate): every head in both directions
    fixed: NDArray[np.bool_]  # (case, offset)
    sentence: NDArray[np.int64]  # (case,) group of the sentence, from 0
    second: NDArray[np.bool_]  # (group,) whether it is in the second half

    def of(self, chosen: NDArray[np.bool_]) -> Cases:
        """Some of the cases."""
        return Cases(self.hits[chosen], self.fixed[chosen], self.sentence[chosen], self.second)


def joined(source: Source, rows: pa.Table, seed: int) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables `probe_relations`, `probe_syntax` and `probe_syntax_cases`, and how many words were compared."""
    heads = source.heads
    cases = _cases(source, rows, len(heads), seed)
    relation = np.array(rows["relation"].to_pylist(), object)
    names = [name for name, count in zip(*np.unique(relation.astype(str), return_counts=True), strict=True) if count]
    groups = {ALL: ~np.isin(relation.astype(str), NOT_IN_ALL)} | {name: relation == name for name in names}
    ranked, every = [], []
    for name, chosen in groups.items():
        every += _every(name, cases.hits[chosen], heads)
        if chosen.sum() >= LEAST and len(np.unique(cases.second[cases.sentence[chosen]])) == 2:
            ranked.append(_best(name, cases.of(chosen), heads, seed))
    ranked.sort(key=lambda row: (row["relation"] != ALL, -row["cases"]))
    tables = {
        "probe_relations": pa.Table.from_pylist(ranked, schema=RELATIONS),
        "probe_syntax": pa.Table.from_pylist(every, schema=SYNTAX),
        "probe_syntax_cases": case_table(source, rows, ranked, seed),
    }
    return tables, {"words": len(relation), "relations": len(names), "few": len(names) + 1 - len(ranked)}


def _cases(source: Source, rows: pa.Table, heads: int, seed: int) -> Cases:
    hits = unpacked(rows["found"], heads).reshape(rows.num_rows, -1)
    fixed = rows["offset"].to_numpy()[:, None] == np.array(OFFSETS)
    sentence, second = halves(source.groups[rows["example"].to_numpy()], seed)
    return Cases(hits, fixed, sentence, second)


def _best(name: str, cases: Cases, heads: list[tuple[int, int]], seed: int) -> dict[str, Any]:
    """The head and the offset that are best on each half, scored on the other; and the head that is best on all."""
    second = cases.second[cases.sentence]
    by_head, head_choices = cross_fitted(cases.hits, second)
    by_offset, offset_choices = cross_fitted(cases.fixed, second)
    overall = int(cases.hits.mean(0).argmax())
    row: dict[str, Any] = {"relation": name, "cases": len(second), **_candidate(overall, heads)}
    row |= scores(by_head, by_offset, cases.sentence, seed)
    others = [choice for choice in head_choices if choice != overall]
    other = _candidate(others[0], heads) if others else {"layer": None, "head": None, "direction": None}
    row |= {f"other_{key}": value for key, value in other.items()}
    return row | {"offset": OFFSETS[offset_choices[0]]}


def scores(
    hits: NDArray[np.bool_], baseline: NDArray[np.bool_], sentence: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Shares of cases found by heads, by offsets, and their difference, with intervals by bootstrap over sentences."""
    return shares({"accuracy": hits, "baseline": baseline}, {"gain": ("accuracy", "baseline")}, sentence, seed)


def _candidate(number: int, heads: list[tuple[int, int]]) -> dict[str, Any]:
    direction, place = divmod(number, len(heads))
    return {"layer": heads[place][0], "head": heads[place][1], "direction": DIRECTIONS[direction]}


def _every(name: str, hits: NDArray[np.bool_], heads: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Every head in both directions on one relation."""
    shares = hits.mean(0)
    return [
        {"relation": name, "cases": len(hits), "accuracy": float(share), **_candidate(number, heads)}
        for number, share in enumerate(shares)
    ]
