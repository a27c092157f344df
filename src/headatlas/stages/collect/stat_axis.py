"""Names of the statistics of a map, in the order of the `stat` axis, and where the kernel leaves each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.models.model import Kind, Model
from headatlas.stages.collect import kernel
from headatlas.stages.collect.layout import special_names

OFFSET_NAMES = {-1: "previous", 0: "self", 1: "next"}
NAMED = ("cls_token", "sep_token", "bos_token", "eos_token", "unk_token", "mask_token")
ONLY_SQUARE = ("self", "previous", "next", "offset", "induction")


@dataclass(frozen=True, slots=True)
class Statistics:
    """The `stat` axis of a model: names, and each one's place among the kernel's sums (-1: made from another)."""

    names: tuple[str, ...]
    places: tuple[int, ...]
    count: int  # sums the kernel makes
    specials: tuple[int, ...]  # ids of the special tokens that have a statistic
    separator: int | None

    def from_sums(self, sums: NDArray[np.float64], kind: Kind, keys: int) -> NDArray[np.float32]:
        """Statistics (head, stat) from the kernel's sums (head, sum) for a map with this many keys."""
        values = sums[:, self.places]
        if "distance" in self.names:
            whole = values[:, [self.names.index("distance"), self.names.index("signed_distance")]]
            share = [self.names.index("distance_share"), self.names.index("signed_distance_share")]
            values[:, share] = whole if kind == "cross" else whole / keys
        if kind == "cross":
            values[:, [self._undefined(name) for name in self.names]] = np.nan
            values[:, self.names.index("position_deviation")] *= keys
        return values.astype(np.float32)

    def _undefined(self, name: str) -> bool:
        """Whether a statistic has no meaning where queries and keys are different texts."""
        return name.startswith(ONLY_SQUARE) or name in ("distance", "signed_distance")


def statistics_of(model: Model) -> Statistics:
    """The statistics collected for this model."""
    return _image(model) if model.modality == "image" else _text(model)


def _text(model: Model) -> Statistics:
    specials = special_tokens(model.tokenizer)
    ends = (getattr(model.tokenizer, f"{name}_token_id", None) for name in ("sep", "eos"))
    separator = next((end for end in ends if end is not None), None)
    marks = ["first", *(f"special:{token}" for token in specials), "punctuation"]
    relations = ["same_token", "induction"]
    first_mark = kernel.FIRST_RELATION + len(relations)
    table = {
        **{OFFSET_NAMES.get(o, f"offset{o:+d}"): kernel.FIRST_OFFSET + i for i, o in enumerate(kernel.OFFSETS)},
        **{name: first_mark + i for i, name in enumerate(marks)},
        "sep_to_sep": first_mark + len(marks),
        "rest_to_sep": first_mark + len(marks) + 1,
        **{name: kernel.FIRST_RELATION + i for i, name in enumerate(relations)},
        "entropy": kernel.ENTROPY,
        "entropy_relative": kernel.ENTROPY_RELATIVE,
        "largest": kernel.LARGEST,
        "distance": kernel.DISTANCE,
        "signed_distance": kernel.SIGNED,
        "distance_share": kernel.DISTANCE,
        "signed_distance_share": kernel.SIGNED,
        "position_deviation": kernel.DEVIATION,
    }
    count = first_mark + len(marks) + 2
    return Statistics(tuple(table), tuple(table.values()), count, tuple(specials.values()), separator)


def _image(model: Model) -> Statistics:
    assert model.grid is not None  # set for every model that reads images
    marks = [f"special:{name}" for name in special_names(model.grid)]
    relations = ["same_row", "same_column"]
    first_mark = kernel.FIRST_RELATION + len(relations)
    table = {
        "self": kernel.FIRST_OFFSET + kernel.REACH,
        **{name: first_mark + i for i, name in enumerate(marks)},
        **{name: kernel.FIRST_RELATION + i for i, name in enumerate(relations)},
        "grid_distance": kernel.DISTANCE,
        "entropy": kernel.ENTROPY,
        "entropy_relative": kernel.ENTROPY_RELATIVE,
        "largest": kernel.LARGEST,
    }
    return Statistics(tuple(table), tuple(table.values()), first_mark + len(marks) + 2, (), None)


def special_tokens(tokenizer: Any) -> dict[str, int]:
    """The tokenizer's own special tokens by name; padding is never part of a map and has no statistic."""
    tokens = {getattr(tokenizer, name, None): getattr(tokenizer, f"{name}_id", None) for name in NAMED}
    known: dict[str, int] = {}
    for token, number in tokens.items():
        if token is not None and number is not None and number not in known.values():
            known[str(token)] = int(number)
    return known
