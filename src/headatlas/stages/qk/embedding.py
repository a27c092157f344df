"""One head: its queries and keys in one space, as points, with what can be said about the plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.trust import neighbors_for
from headatlas.stages.qk.correlation import choose_scale
from headatlas.stages.qk.head_map import PAIRS, shape_of
from headatlas.stages.qk.methods import place
from headatlas.stages.qk.notes import joined, overflown, vectors_note
from headatlas.stages.qk.transform import scaled, translated

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Plot:
    """The plot of one head: queries first, then keys."""

    position: Floats  # (point, axis)
    trust: Floats  # (point,)
    kept: Floats  # (point,)
    norm: Floats  # (point,)
    shape: Floats  # (pair,)
    facts: dict[str, Any]  # columns of the table `qk_heads`


def embed_head(query: Floats, key: Floats, method: str, dims: int, seed: int) -> Plot:
    """Move queries and keys (token, feature) of a head into one space, and draw them; NaN rows are no points."""
    note = overflown(query, key)
    present = [np.isfinite(vectors).all(1) for vectors in (query, key)]
    drawn = np.concatenate(present)
    query, key = query[present[0]], key[present[1]]
    if min(len(query), len(key)) == 0 or len(query) + len(key) < 4:
        return _nothing(len(drawn), dims, note)
    moved, translation = translated(query, key)
    choice = choose_scale(query, moved, seed)
    near, near_keys = scaled(query, moved, choice.scale)
    vectors = np.concatenate([near, near_keys]).astype(np.float32)
    position, kl = place(vectors, method, dims, seed)
    trust, continuity, kept = _preserved(vectors, position)
    norms = np.linalg.norm(np.concatenate([query, key]).astype(np.float64), axis=1)
    facts = {
        "scale": choice.scale, "translation_norm": float(np.linalg.norm(translation)),
        "correlation": choice.correlation, "spearman": choice.spearman,
        "spearman_unscaled": choice.spearman_unscaled, "spearman_closed_form": choice.spearman_closed_form,
        "trust": _mean(trust), "continuity": _mean(continuity), "kept": _mean(kept), "kl": kl,
        "note": joined(note, vectors_note(query, key)),
    }  # fmt: skip
    position, trust, kept, norm = (_spread(values, drawn) for values in (position, trust, kept, norms))
    return Plot(position, trust, kept, norm, shape_of(near, near_keys), facts)


def _preserved(vectors: Floats, position: Floats) -> tuple[Floats, Floats, Floats]:
    from headatlas.numeric.neighborhoods import neighborhoods  # which imports numba

    return neighborhoods(vectors, position, neighbors_for(len(vectors)))


def _mean(values: Floats) -> float:
    return float(values.mean(dtype=np.float64))


def _spread(values: NDArray[Any], drawn: NDArray[np.bool_]) -> Floats:
    """Values of the points that are drawn among those of all points; NaN elsewhere."""
    everywhere = np.full((len(drawn), *values.shape[1:]), np.nan, np.float32)
    everywhere[drawn] = values
    return everywhere


NUMBERS = (
    "scale", "translation_norm", "correlation", "spearman", "spearman_unscaled", "spearman_closed_form", "trust",
    "continuity", "kept", "kl",
)  # fmt: skip


def _nothing(points: int, dims: int, note: str) -> Plot:
    """The plot of a head with too few vectors."""
    empty = np.full((points, dims), np.nan, np.float32)
    facts = dict.fromkeys(NUMBERS, float("nan")) | {"note": joined(note, "it has too few queries or keys to draw")}
    return Plot(empty, empty[:, 0], empty[:, 0], empty[:, 0], np.full(PAIRS, np.nan, np.float32), facts)
