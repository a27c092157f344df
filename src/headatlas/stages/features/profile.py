"""The default encoder: where attention goes, by distance and by content, on one fixed scale.

Nothing is trained or fitted, so vectors of all atlases of text models lie in one space, and no vector knows which head
it is from. Masses enter as square roots: the distance of two vectors is then a Hellinger distance, in which faint and
strong structure count alike, and no feature is inflated to unit variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.pooling import pooling_matrices
from headatlas.sources import Beyond, Explained, Mark, Offset, Relation, ToSeparators, Window
from headatlas.statistics import Statistic, statistic

Array = NDArray[Any]
SIDE = 8  # of the coarse map
CONTENT = 2.0  # weight of what distance does not explain, which is small where it matters
EVENNESS = ("entropy_relative", "largest")


@dataclass(frozen=True)
class ProfileEncoder:
    """Square roots of masses by distance and on sinks, content beyond distance, evenness, and a coarse map."""

    statistics: tuple[str, ...]  # the names of all statistics of the atlas, in order

    name: ClassVar[str] = "profile"
    reads: ClassVar[tuple[str, ...]] = ("pooled", "stats")

    @property
    def width(self) -> int:
        """Number of features: one per statistic that is used, and one per cell of the coarse map."""
        return len(used(self.statistics)) + SIDE * SIDE

    def recipe(self) -> dict[str, Any]:
        """What determines the vectors, beside the statistics of the atlas."""
        return RECIPE

    def encode(self, pooled: Array | None, stats: Array | None) -> NDArray[np.float32]:
        """Vectors of maps; a statistic that is undefined for a map counts as 0."""
        assert pooled is not None and stats is not None
        columns = [feature(statistic(name), stats[:, place]) for place, name in used(self.statistics)]
        return np.column_stack([*columns, coarse(pooled)]).astype(np.float32)


RECIPE = {"encoder": ProfileEncoder.name, "version": 3}


def used(names: Sequence[str]) -> list[tuple[int, str]]:
    """The statistics that are features, with their places.

    >>> used(["previous", "entropy", "largest", "same_token", "same_token_beyond"])
    [(0, 'previous'), (2, 'largest'), (4, 'same_token_beyond')]
    """
    return [(place, name) for place, name in enumerate(names) if _is_used(statistic(name))]


def _is_used(declared: Statistic) -> bool:
    image_only = declared.modalities == ("image",)
    match declared.source:
        case Offset() | Window() | Beyond() | Explained() | ToSeparators("rest"):
            return True
        case Relation():  # in texts, what it has beyond distance
            return image_only
        case Mark():  # sinks of texts are the first token and separators, whatever their names are
            return declared.name == "first"
    return declared.name in EVENNESS


def feature(declared: Statistic, values: Array) -> Array:
    """A statistic on the scale of square roots of masses.

    >>> feature(statistic("previous"), np.array([0.25, np.nan])).tolist()
    [0.5, 0.0]
    >>> feature(statistic("same_token_beyond"), np.array([0.04, -0.01])).round(2).tolist()
    [0.4, -0.2]
    """
    values = np.nan_to_num(values, nan=_undefined(declared))
    if isinstance(declared.source, Beyond):
        return np.asarray(CONTENT * np.sign(values) * np.sqrt(np.abs(values)))
    if isinstance(declared.source, Explained):
        return np.asarray(CONTENT * np.sqrt(np.clip(1 - values, 0, 1)))
    return values if declared.name in EVENNESS else np.sqrt(np.clip(values, 0, 1))


def _undefined(declared: Statistic) -> float:
    return 1.0 if isinstance(declared.source, Explained) else 0.0


def coarse(maps: Array) -> NDArray[np.float32]:
    """Square roots of maps pooled to 8 × 8 (map, 64), so that their squares sum to 1.

    >>> [round(float(cell), 3) for cell in coarse(np.eye(16)[None])[0, :2]]
    [0.354, 0.0]
    """
    queries, keys = maps.shape[1:]
    rows, columns = (matrix.astype(np.float32) for matrix in pooling_matrices(queries, keys, SIDE))
    cells: NDArray[np.float32] = rows @ maps.astype(np.float32) @ columns
    return np.sqrt(np.maximum(cells, 0) / SIDE).reshape(len(maps), -1)
