"""Mentions and the heads of a model that find their antecedents, text by text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.tokens import read_rows
from headatlas.data.mentions import MENTION_COLUMNS
from headatlas.models.model import Layer
from headatlas.numeric.words import word_maps
from headatlas.stages.probe.sieve import BASELINES, Words, chosen
from headatlas.stages.probe.source import ExampleMaps, Source

OPTIONAL = ("mention_asked", "gender")  # of GAP: the mention that is asked for, and the gender of the pronoun

PART = pa.schema([
    ("example", pa.int64()), ("mention", pa.int32()), ("kind", pa.string()), ("earlier", pa.bool_()),
    ("seen", pa.bool_()), *((name, pa.bool_()) for name in BASELINES), ("found", pa.binary()),
])  # fmt: skip


def part_table(source: Source, numbers: list[int]) -> pa.Table:
    """One row per mention that has an antecedent; `found` are the bits of heads that find it, in their order.

    `seen` is false for mentions of which the model has not read the head word, or has read no antecedent.
    """
    stored = set(source.atlas.table_columns("examples"))
    columns = [*MENTION_COLUMNS, *(name for name in OPTIONAL if name in stored)]
    known = dict(zip(numbers, read_rows(source.atlas, numbers, columns), strict=True))
    rows: list[dict[str, Any]] = []
    for example in source.maps(numbers):
        rows += example_rows(example, source.model.layers, known[example.number])
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["example"], row["mention"])), schema=PART)


@dataclass(frozen=True)
class Case:
    """A mention, the mentions among which its antecedent is to be found, and whether each is in its chain."""

    number: int
    mention: Words
    candidates: list[Words]
    right: list[bool]

    @property
    def right_places(self) -> set[int]:
        """Head words of the antecedents."""
        return {other.place for other, right in zip(self.candidates, self.right, strict=True) if right}


def cases(row: Mapping[str, Any]) -> Iterator[Case]:
    """Mentions with an antecedent before them; in GAP the pronoun, with a right and a wrong name at either side."""
    listed = [row[name] or [] for name in ("mention_head", "mention_word", "mention_text", "mention_kind")]
    mentions, chains = [Words(*values) for values in zip(*listed, strict=True)], row["mention_chain"] or []
    asked = row.get("mention_asked")
    for number, mention in enumerate(mentions):
        if asked is not None and number != asked:
            continue
        others = [
            place for place, other in enumerate(mentions)
            if other.place < mention.place or (asked is not None and place != number)
        ]  # fmt: skip
        right = [chains[place] == chains[number] for place in others]
        if any(right) and (asked is None or not all(right)):
            yield Case(number, mention, [mentions[place] for place in others], right)


def example_rows(example: ExampleMaps, layers: tuple[Layer, ...], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of one text; layers whose queries and keys are not its words find nothing."""
    of_row = list(cases(row))
    places = sorted({other.place for case in of_row for other in (case.mention, *case.candidates)})
    read = example.has_tokens(max(places, default=-1) + 1)
    places = [place for place in places if place >= 0 and read[place]]
    maps = head_word_maps(example, layers, places) if places else None
    for case in of_row:
        seen = [other for other in case.candidates if other.place in places]
        is_seen = case.mention.place in places and bool(case.right_places & {other.place for other in seen})
        hits = _found(maps, places, case) if maps is not None and is_seen else np.zeros(_heads(layers), bool)
        yield {
            "example": example.number, "mention": case.number, "kind": _kind(case, row),
            "earlier": all(other.place < case.mention.place for other in case.candidates), "seen": is_seen,
            "found": np.packbits(hits).tobytes(), **_baselines(case),
        }  # fmt: skip


def _kind(case: Case, row: Mapping[str, Any]) -> str:
    """GAP is scored by the gender of its pronouns, since they are all of one kind."""
    gender = row.get("gender") if row.get("mention_asked") is not None else None
    return gender or case.mention.kind


def _heads(layers: tuple[Layer, ...]) -> int:
    return sum(layer.heads for layer in layers)


def head_word_maps(example: ExampleMaps, layers: tuple[Layer, ...], places: list[int]) -> NDArray[np.float64]:
    """Maps (head, word, word) between some words only."""
    parts = []
    for layer in layers:
        word = example.words(layer)
        if word is None:
            parts.append(np.zeros((layer.heads, len(places), len(places))))
            continue
        renumbered = np.full(max(int(word.max(initial=-1)), places[-1]) + 2, -1)  # the last is that of no word
        renumbered[places] = range(len(places))
        parts.append(word_maps(example.maps[layer.index], renumbered[word], len(places)))
    return np.concatenate(parts)


def _found(maps: NDArray[np.float64], places: list[int], case: Case) -> NDArray[np.bool_]:
    """For each head whether the word that gets most attention, among head words of candidates, is an antecedent's."""
    among = sorted({other.place for other in case.candidates if other.place in places})
    weights = maps[:, places.index(case.mention.place)][:, [places.index(place) for place in among]]
    right = np.array([place in case.right_places for place in among])
    hits: NDArray[np.bool_] = right[weights.argmax(1)] & (weights.max(1) > 0)
    return hits


def _baselines(case: Case) -> dict[str, bool]:
    """Whether each rule finds an antecedent; as for heads, the head word counts."""
    return {
        name: chosen(case.mention, case.candidates, rules).place in case.right_places
        for name, rules in BASELINES.items()
    }
