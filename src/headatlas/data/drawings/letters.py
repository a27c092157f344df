"""Letters as grids of seven rows and five columns, drawn here; no font is used."""

from __future__ import annotations

import numpy as np

from headatlas.data.drawings.canvas import Field

__all__ = ["LETTERS", "letter"]

LETTERS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "C": ".#### #.... #.... #.... #.... #.... .####",
    "E": "##### #.... #.... ####. #.... #.... #####",
    "H": "#...# #...# #...# ##### #...# #...# #...#",
    "K": "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
    "L": "#.... #.... #.... #.... #.... #.... #####",
    "N": "#...# ##..# ##..# #.#.# #..## #..## #...#",
    "P": "####. #...# #...# ####. #.... #.... #....",
    "S": ".#### #.... #.... .###. ....# ....# ####.",
    "T": "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
    "X": "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
    "Y": "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
}
_GRIDS = {
    name: np.pad(np.array([[cell == "#" for cell in row] for row in rows.split()], np.float32), 1)
    for name, rows in LETTERS.items()
}


def letter(name: str, u: Field, v: Field) -> Field:
    """The distance from the edge of a letter that reaches from -1 to 1 downward; negative inside."""
    grid = _GRIDS[name]
    row = np.clip(v * 3.5 + 4, 0, grid.shape[0] - 1.001)
    column = np.clip(u * 3.5 + 3, 0, grid.shape[1] - 1.001)
    top, left = row.astype(np.intp), column.astype(np.intp)
    down, right = row - top, column - left
    upper = grid[top, left] * (1 - right) + grid[top, left + 1] * right
    lower = grid[top + 1, left] * (1 - right) + grid[top + 1, left + 1] * right
    ink = upper * (1 - down) + lower * down  # 1 in the middle of a cell of the letter, 0 in the middle of another
    distance: Field = ((np.float32(0.38) - ink) / np.float32(3.5)).astype(np.float32)  # below 0.5: corners connect
    return distance
