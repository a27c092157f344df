"""What the points of a plot of queries and keys are colored by."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.plot.scatter import Coloring
from headatlas.plot.style import REST
from headatlas.stages.qk import colorings
from headatlas.stages.qk.colorings import COLORINGS
from headatlas.wording import many, percent

KIND, NORM = "kind", "norm"
MOST = 9  # categories with a color of their own


def coloring_of(atlas: Atlas, of: str, by: str, norm: NDArray[Any], shown: NDArray[np.int64]) -> Coloring:
    """What colors the points that are shown; a token has the same color as a query and as a key."""
    tokens = len(norm) // 2
    if by == KIND:
        return Coloring("kind", (shown >= tokens).astype(int), [(0, "query", ""), (1, "key", "")])
    if by == NORM:
        return Coloring("norm of the vector", norm[shown].astype(float))
    declared = _declared(atlas, of, by)
    table = atlas.table("qk_points", of, columns=list({by, "special"}))
    values, special = table[by].to_pylist(), table["special"].to_pylist()
    if declared.kind == "category":
        return _categories(declared.label, values, shown % tokens)
    known = [np.nan if _unknown(by, value, out) else value for value, out in zip(values, special, strict=True)]
    numbers = np.array(known, float)
    return Coloring(declared.label, numbers[shown % tokens], unit=declared.unit, scale=declared.scale)


def _declared(atlas: Atlas, of: str, by: str) -> colorings.Coloring:
    columns = atlas.table_columns("qk_points", of)
    known = {coloring.name: coloring for coloring in COLORINGS if coloring.name in columns}
    if by not in known:
        raise OptionError(f"--by {by}: choose {KIND}, {NORM}, {', '.join(known)}")
    return known[by]


def _unknown(by: str, value: float | None, special: bool) -> bool:
    """Whether a token has no value; special tokens have a position and a frequency, but no length, row and so on."""
    return value is None or (special and by not in ("position", "frequency"))


def _categories(label: str, values: list[Any], place: NDArray[np.int64]) -> Coloring:
    """The most frequent categories; the others share a gray, and tokens without one a lighter gray."""
    counts = Counter(str(value) for value in values if value is not None)
    order = sorted(counts, key=lambda word: (-counts[word], word))
    code = {word: number if number < MOST else REST for number, word in enumerate(order)}
    codes = np.array([-1 if value is None else code[str(value)] for value in values])
    rows = [(code[word], word, percent(counts[word] / len(values))) for word in order[:MOST]]
    if len(order) > MOST:
        rows.append((REST, many(len(order) - MOST, "other"), percent(float((codes == REST).mean()))))
    if (codes == -1).any():
        rows.append((-1, "none", percent(float((codes == -1).mean()))))
    return Coloring(label, codes[place], rows, note=", share of tokens")
