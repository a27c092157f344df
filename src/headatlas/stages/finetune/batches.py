"""Batches of similar length in a seeded order, encoded only when their turn comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import DataError

CHUNK = 50  # batches that are encoded, sorted by length and shuffled together
ENDLESS = 1_000_000_000  # batches, where only the clock ends training
NOTHING = "nothing to train on fits into a window. Allow more tokens with --max-tokens"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of a batch: the tokens of a window, and what the network is to say of them."""

    ids: NDArray[np.int32]
    types: NDArray[np.int8] | None
    targets: dict[str, int | NDArray[np.int64]]  # one number, or one per token

    def __len__(self) -> int:
        return len(self.ids)


Encoder = Callable[[Item, NDArray[np.uint32]], list[Feature]]  # an item and the seed of this draw, as windows


class Batches(Generic[Item]):
    """All batches of a training run, one epoch after another; the same seed gives the same batches.

    It is a batch sampler whose samples are features. `read` says how many items were read up to each batch.
    """

    def __init__(
        self, items: Sequence[Item], encode: Encoder[Item], batch_size: int, *, seed: int, planned: int | None
    ) -> None:
        self.items = items
        self.encode = encode
        self.batch_size = batch_size
        self.drop_last = False
        self.seed = seed
        self.planned = math.inf if planned is None else planned  # items to read, in all epochs
        self.read: list[int] = []
        self.last = False  # whether no batch follows those in `read`
        self.without_windows: set[int] = set()  # items that fit into no window

    def __len__(self) -> int:
        return ENDLESS  # not known before all windows are: training is stopped by its pace

    def __iter__(self) -> Iterator[list[Feature]]:
        self.read, self.last = [], False
        batches = self._ordered()
        upcoming = next(batches, None)
        if upcoming is None:
            raise DataError(NOTHING)
        while upcoming is not None:
            read, batch = upcoming
            upcoming = next(batches, None)
            self.read.append(read)
            self.last = upcoming is None
            yield batch

    def _ordered(self) -> Iterator[tuple[int, list[Feature]]]:
        """Batches, and how many items were read up to each."""
        done = 0
        for chunk in self._chunks():
            rng = np.random.default_rng([self.seed, 1, done])
            features = [feature for number in chunk for feature in self._encoded(number, done // len(self.items))]
            if len(self.without_windows) == len(self.items):
                raise DataError(NOTHING)
            batches = _batches(features, self.batch_size, rng)
            for number, batch in enumerate(batches, 1):
                yield done + len(chunk) * number // len(batches), batch
            done += len(chunk)

    def _chunks(self) -> Iterator[NDArray[np.int64]]:
        """Numbers of items, in a new order in every epoch."""
        done, size = 0, CHUNK * self.batch_size
        while done < self.planned:
            order = np.random.default_rng([self.seed, 0, done]).permutation(len(self.items))
            order = order[: int(min(len(order), self.planned - done))]
            yield from (order[start : start + size] for start in range(0, len(order), size))
            done += len(order)

    def _encoded(self, number: int, epoch: int) -> list[Feature]:
        features = self.encode(self.items[number], np.array([self.seed, 2, epoch, number], np.uint32))
        if not features:
            self.without_windows.add(int(number))
        return features


def _batches(features: list[Feature], size: int, rng: np.random.Generator) -> list[list[Feature]]:
    """Features of similar length together, so that little is padded; the batches in random order."""
    shuffled = [features[number] for number in rng.permutation(len(features))]
    shuffled.sort(key=len)
    batches = [shuffled[start : start + size] for start in range(0, len(shuffled), size)]
    return [batches[number] for number in rng.permutation(len(batches))]


def collate(features: Sequence[Feature], pad: int) -> dict[str, Tensor]:
    """Padded tensors of a batch; positions of padding have the target -100, which losses ignore."""
    length = max(map(len, features))
    inputs = {"input_ids": _padded([feature.ids for feature in features], length, pad)}
    sizes = torch.tensor([len(feature) for feature in features])
    inputs["attention_mask"] = (torch.arange(length)[None] < sizes[:, None]).long()
    if features[0].types is not None:
        inputs["token_type_ids"] = _padded([feature.types for feature in features], length, 0)
    for name, target in features[0].targets.items():
        values: list[Any] = [feature.targets[name] for feature in features]
        inputs[name] = torch.tensor(values) if isinstance(target, int) else _padded(values, length, -100)
    return inputs


def _padded(rows: Sequence[Any], length: int, fill: int) -> Tensor:
    padded = np.full((len(rows), length), fill, np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)
