"""The `stat` axis of a model: its declared statistics, and the index of each among the sums of the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.models.model import Kind, Model
from headatlas.optional_statistics import NORMS, between_spans
from headatlas.sources import Beyond, Columns, Explained, Mark, Offset, Reach, Relation, RowMean, ToSeparators, Window
from headatlas.stages.collect import distances, kernel
from headatlas.stages.collect.layout import special_names
from headatlas.statistics import SPECIAL, Modality, Statistic, collected, special

SPECIAL_TOKENS = ("cls_token", "sep_token", "bos_token", "eos_token", "unk_token", "mask_token")


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a model in the order of the `stat` axis, and the index of each among the sums of the kernel.

    Those of the kernel come first, then those between the kinds of `spans` that the data have, then `norms` of what is
    moved.
    """

    declared: tuple[Statistic, ...]  # by the kernel
    places: tuple[int, ...]
    count: int  # number of sums of the kernel
    specials: tuple[int, ...]  # ids of the special tokens that have a statistic
    separator: int | None
    spans: tuple[str, ...] = ()
    norms: tuple[Statistic, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(statistic.name for statistic in (*self.declared, *between_spans(self.spans), *self.norms))

    def from_sums(self, sums: NDArray[np.float64], kind: Kind, keys: int | NDArray[np.int64]) -> NDArray[np.float32]:
        """Statistics (…, stat) from the kernel's sums (…, sum) for maps with this many keys."""
        values, keys = sums[..., self.places], np.asarray(keys)[..., None]
        if kind == "cross":
            values[..., self._measured_in("tokens")] *= keys
            values[..., [statistic.square_only for statistic in self.declared]] = np.nan
        else:
            values[..., self._measured_in("share")] /= keys
        return values.astype(np.float32)

    def _measured_in(self, length: str) -> list[bool]:
        sources = (statistic.source for statistic in self.declared)
        return [isinstance(source, RowMean) and source.length == length for source in sources]


def statistics_of(model: Model, spans: Sequence[str] = (), norms: bool = False) -> Statistics:
    """The statistics collected for this model and data with these kinds of spans, with what is moved or without."""
    return replace(_by_kernel(model), spans=tuple(spans), norms=NORMS if norms else ())


def atlas_statistics(model: Model, atlas: Atlas) -> Statistics:
    """The statistics of maps that are compared with those of an atlas."""
    return statistics_of(model, atlas.collection.get("spans", ()), atlas.options.get("norms", False))


def _by_kernel(model: Model) -> Statistics:
    if model.modality == "image":
        assert model.grid is not None  # set for every model that reads images
        return _axis("image", special_names(model.grid), (), None)
    tokens = special_tokens(model.tokenizer)
    ends = (getattr(model.tokenizer, f"{name}_token_id", None) for name in ("sep", "eos"))
    return _axis("text", tokens, tokens.values(), next((end for end in ends if end is not None), None))


def _axis(modality: Modality, tokens: Iterable[str], ids: Iterable[int], separator: int | None) -> Statistics:
    specials = [special(token) for token in tokens]
    declared: list[Statistic] = []
    for statistic in collected(modality):
        declared += specials if statistic is SPECIAL else [statistic]
    places, count = _places(declared)
    return Statistics(tuple(declared), tuple(places), count, tuple(ids), separator)


def _places(declared: Sequence[Statistic]) -> tuple[list[int], int]:
    """The place of each statistic among the kernel's sums, and how many sums there are."""
    relations = [statistic.name for statistic in declared if isinstance(statistic.source, Relation)]
    marks = [statistic.name for statistic in declared if isinstance(statistic.source, Mark)]
    first_mark = kernel.FIRST_RELATION + len(relations)
    first_separator = first_mark + len(marks)
    first_distance = first_separator + 2
    compared = [statistic.name for statistic in declared if isinstance(statistic.source, Beyond)]

    def place(statistic: Statistic) -> int:
        match statistic.source:
            case Offset(by):
                return kernel.FIRST_OFFSET + kernel.OFFSETS.index(by)
            case RowMean(name):
                return int(getattr(kernel, name))
            case Relation():
                return kernel.FIRST_RELATION + relations.index(statistic.name)
            case Mark():
                return first_mark + marks.index(statistic.name)
            case ToSeparators(queries):
                return first_separator + ("separators", "rest").index(queries)
            case Explained(by):
                return first_distance + (distances.BY_KEY if by == "key" else distances.BY_DISTANCE)
            case Reach(of):
                return first_distance + (distances.REACH if of == "distance" else distances.DIRECTION)
            case Columns():
                return first_distance + distances.COLUMNS
            case Window(nearest, farthest):
                return first_distance + distances.FIRST_WINDOW + distances.WINDOWS.index((nearest, farthest))
            case Beyond():
                return first_distance + distances.FIRST_BEYOND + compared.index(statistic.name)
        raise AssertionError(f"{statistic.name} is not computed by the kernel")

    count = first_distance + distances.FIRST_BEYOND + len(compared)
    return [place(statistic) for statistic in declared], count


def special_tokens(tokenizer: Any) -> dict[str, int]:
    """The tokenizer's special tokens by name; padding is never part of a map and has no statistic."""
    tokens = {getattr(tokenizer, name, None): getattr(tokenizer, f"{name}_id", None) for name in SPECIAL_TOKENS}
    known: dict[str, int] = {}
    for token, number in tokens.items():
        if token is not None and number is not None and number not in known.values():
            known[str(token)] = int(number)
    return known
