"""The collections that are compared: the first, the steps after it, and other seeds, with their names and heads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.atlas.writer import key_of
from headatlas.errors import OptionError
from headatlas.numeric.sampling import Heads

Role = Literal["first", "step", "noise"]


@dataclass(frozen=True)
class Collection:
    """The atlas of one model. `number` is its place on the axis `model`, and of a step the number of the step."""

    number: int
    role: Role
    label: str
    atlas: Atlas

    @property
    def name(self) -> str:
        """The name of the folder of the atlas."""
        return atlas_name(self.atlas)

    @cached_property
    def heads(self) -> Heads:
        """Layer and head of each head, one row each."""
        return existing_heads(self.atlas)

    @cached_property
    def statistics(self) -> list[str]:
        """Names of the statistics, in the order of their axis."""
        return list(self.atlas.array("stats").attrs["stats"])

    @property
    def source(self) -> str:
        """The key of the collection: another model, dataset or option gives another."""
        return key_of(self.atlas.entries(schema.COLLECT)[0]["recipe"])

    @property
    def identity(self) -> dict[str, str]:
        """What the result depends on, for its recipe."""
        return {"role": self.role, "name": self.name, "label": self.label, "collection": self.source}

    def read_heads(self, array: str, rows: range) -> NDArray[Any]:
        """Values (example, slot, …) of the heads that exist."""
        values = self.atlas.read(array, slice(rows.start, rows.stop))
        selected: NDArray[Any] = values[:, self.heads[:, 0], self.heads[:, 1]]
        return selected


@dataclass(frozen=True)
class Compared:
    """Everything that is compared: every step with the first, and the last step with other seeds of its model."""

    first: Collection
    steps: tuple[Collection, ...]
    noise: tuple[Collection, ...]

    def __iter__(self) -> Iterator[Collection]:
        return chain((self.first,), self.steps, self.noise)

    @property
    def last(self) -> Collection:
        """The last step."""
        return self.steps[-1]

    @property
    def examples(self) -> int:
        """Number of examples of each collection."""
        return int(self.first.atlas.collection["counts"]["examples"])

    @cached_property
    def statistics(self) -> list[str]:
        """The statistics that all have, in the order of the first."""
        common = set.intersection(*(set(each.statistics) for each in self))
        return [name for name in self.first.statistics if name in common]


def open_collections(
    first: AtlasLike, others: Sequence[AtlasLike], noise: Sequence[AtlasLike], labels: Sequence[str] | None
) -> Compared:
    """Open the atlases; `labels` are those of the first and of every step."""
    if not others:
        raise OptionError("compare needs two atlases or more: headatlas compare FIRST.atlas OTHER.atlas")
    if labels is not None and len(labels) != 1 + len(others):
        raise OptionError(f"--steps has {len(labels)} labels for {1 + len(others)} atlases: give one for each")
    opened = [Atlas.open(atlas) for atlas in (first, *others, *noise)]
    for atlas in opened:
        atlas.needed(schema.COLLECT)
    names = [atlas_name(atlas) for atlas in opened]
    given = names if labels is None else [*labels, *names[len(labels) :]]
    seeds = 1 + len(others)  # the number of the first seed

    def collection(number: int) -> Collection:
        role: Role = "first" if number == 0 else "step" if number < seeds else "noise"
        return Collection(number, role, given[number], opened[number])

    collections = [collection(number) for number in range(len(opened))]
    return Compared(collections[0], tuple(collections[1:seeds]), tuple(collections[seeds:]))


def atlas_name(atlas: Atlas) -> str:
    """The name of the folder of an atlas, without its suffix."""
    return atlas.files.url.rstrip("/").rpartition("/")[2].removesuffix(".atlas") or "atlas"


def result_name(compared: Compared) -> str:
    """The name of a result by default: that of the other atlas, or of the first and the last of a series."""
    names = [step.name for step in compared.steps]
    joined = names[0] if len(names) == 1 else f"{names[0]}-to-{names[-1]}"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", joined).lstrip("._-")[:64] or "compare"


def same_heads(first: Collection, other: Collection) -> bool:
    """Whether two models have the same heads in the same layers."""
    kinds = [[layer["kind"] for layer in each.atlas.header["model"]["layers"]] for each in (first, other)]
    return np.array_equal(first.heads, other.heads) and kinds[0] == kinds[1]
