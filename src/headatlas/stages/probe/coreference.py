"""Coreference: the best head of each kind of mention, chosen on half of the documents and scored on the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.stages.probe.choices import LEAST, cross_fitted, halves, shares, unpacked_bits
from headatlas.stages.probe.measures import PLACE
from headatlas.stages.probe.sieve import BASELINES
from headatlas.stages.probe.source import Source

ALL, EARLIER = "all", "names first"

WHOLE, REAL, TEXT = pa.int32(), pa.float64(), pa.string()
SCORED = [(f"{name}{end}", REAL) for name in ("accuracy", *BASELINES, "gain") for end in ("", "_low", "_high")]
OTHER = [("other_layer", WHOLE), ("other_head", WHOLE)]
BEST = pa.schema([
    ("kind", TEXT), ("cases", WHOLE), ("documents", WHOLE), *PLACE, *SCORED, ("best_baseline", TEXT), *OTHER,
])  # fmt: skip
HEADS = pa.schema([("kind", TEXT), *PLACE, ("cases", WHOLE), ("accuracy", REAL)])


def joined(source: Source, rows: pa.Table, seed: int) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables `probe_coref` and `probe_coref_heads`, and how many mentions could not be compared."""
    lost = rows.num_rows - int(np.sum(rows["seen"].to_numpy()))
    rows = rows.filter(rows["seen"])
    heads, hits = source.heads, unpacked_bits(rows["found"], len(source.heads))
    document, second = halves(source.groups[rows["example"].to_numpy()], seed)
    ranked, every = [], []
    for kind, chosen in _kinds(rows).items():
        if chosen.any():
            every += _every(kind, hits[chosen], heads)
        if chosen.sum() >= LEAST and len(np.unique(second[document[chosen]])) == 2:
            fixed = {name: rows[name].to_numpy()[chosen] for name in BASELINES}
            best = _best(hits[chosen], fixed, document[chosen], second, heads, seed)
            ranked.append({"kind": kind, "cases": int(chosen.sum()), **best})
    tables = {
        "probe_coref": pa.Table.from_pylist(ranked, schema=BEST),
        "probe_coref_heads": pa.Table.from_pylist(every, schema=HEADS),
    }
    return tables, {"mentions": rows.num_rows, "not_read": lost, "documents": len(second)}


def _kinds(rows: pa.Table) -> dict[str, NDArray[np.bool_]]:
    """The cases of each kind, all first; where candidates may come later, those where none does are a kind as well."""
    kind, earlier = np.array(rows["kind"].to_pylist(), str), rows["earlier"].to_numpy()
    names, counts = np.unique(kind, return_counts=True)
    groups = {ALL: np.ones(len(kind), bool)}
    groups |= {str(name): kind == name for _, name in sorted(zip(-counts, names, strict=True))}
    return groups if earlier.all() else groups | {EARLIER: earlier}


def _best(
    all_hits: NDArray[np.bool_], fixed: dict[str, NDArray[np.bool_]], document: NDArray[np.int64],
    second: NDArray[np.bool_], heads: list[tuple[int, int]], seed: int,
) -> dict[str, Any]:  # fmt: skip
    """The head that is best on each half, scored on the other, beside rules; and the head that is best on all.

    The gain is over the rule that is best on all cases: a choice in favor of the rules.
    """
    hits, choices = cross_fitted(all_hits, second[document])
    baseline = max(fixed, key=lambda name: fixed[name].mean())
    scored = shares({"accuracy": hits, **fixed}, {"gain": ("accuracy", baseline)}, document, seed)
    overall = int(all_hits.mean(0).argmax())
    other = next((heads[choice] for choice in choices if choice != overall), (None, None))
    return {
        "layer": heads[overall][0], "head": heads[overall][1], **scored, "best_baseline": baseline,
        "documents": len(np.unique(document)), "other_layer": other[0], "other_head": other[1],
    }  # fmt: skip


def _every(kind: str, hits: NDArray[np.bool_], heads: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Every head on one kind."""
    return [
        {"kind": kind, "layer": layer, "head": head, "cases": len(hits), "accuracy": float(share)}
        for (layer, head), share in zip(heads, hits.mean(0), strict=True)
    ]
