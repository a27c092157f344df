"""Repeated random tokens: texts without meaning, of which the second part can be known from the first alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.data import Example
from headatlas.models.encode import Encoded, Tokens, encode, start_token
from headatlas.models.groups import text_groups
from headatlas.models.model import Model
from headatlas.numeric.threads import single_thread
from headatlas.stages.probe.detection import DRAWS, TABLE, text_rows
from headatlas.stages.probe.detectors import REPEATED
from headatlas.stages.probe.source import MOST_TOKENS, Source

LENGTH = 64  # random tokens of a sequence
LEAST_LENGTH = 16

Ids = NDArray[np.int32]


def repeated_ids(vocabulary: Ids, length: int, rng: np.random.Generator) -> Ids:
    """Random tokens, the last of which are there twice in a row: as many as a quarter to a half of all.

    How many is random, so that no head finds the first copy by distance alone.

    >>> repeated_ids(np.arange(100, dtype=np.int32), 12, np.random.default_rng(0)).tolist()
    [4, 26, 49, 30, 7, 60, 4, 26, 49, 30, 7, 60]
    """
    copied = int(rng.integers(length // 4, length // 2 + 1))
    once = rng.choice(vocabulary, length - copied, replace=len(vocabulary) < length)
    return np.concatenate([once, once[-copied:]])


def vocabulary(model: Model) -> Ids:
    """The tokens of a model without special and added ones."""
    tokenizer = model.tokenizer
    added = {*tokenizer.all_special_ids, *getattr(tokenizer, "added_tokens_decoder", {})}
    rows = model.network.get_input_embeddings().weight.shape[0]  # type: ignore[operator]
    return np.array(sorted(each for each in {*tokenizer.get_vocab().values()} - added if each < rows), np.int32)


class Sequences:
    """Sequences of one length, each with the special tokens that the model's tokenizer adds."""

    def __init__(self, model: Model, seed: int) -> None:
        self.seed, self.vocabulary = seed, vocabulary(model)
        frame = encode(model, Example("a", text="a"))[0].source
        inner = np.flatnonzero(~frame.special)
        self.before, self.after = frame.ids[: inner[0]], frame.ids[inner[-1] + 1 :]
        self.start = [start_token(model)] if model.encoder_decoder else None
        room = model.max_tokens - max(len(self.before) + len(self.after), 1)
        self.length = min(LENGTH, room) if room >= LEAST_LENGTH else 0

    def draw(self, number: int, draw: int = 0) -> Encoded:
        """A sequence by its number; other draws are the same sequence with other tokens and another distance."""
        ids = repeated_ids(self.vocabulary, self.length, np.random.default_rng([self.seed, number, draw]))
        target = None if self.start is None else _tokens(np.array(self.start, np.int32), ids, ids[:0])
        return Encoded(_tokens(self.before, ids, self.after), target)


def _tokens(before: Ids, ids: Ids, after: Ids) -> Tokens:
    special = np.repeat([True, False, True], [len(before), len(ids), len(after)])
    nothing = np.zeros(len(special), np.int32)
    every = np.concatenate([before, ids, after]).astype(np.int32)
    return Tokens(every, [""] * len(every), nothing - special, special, nothing.astype(np.int8), nothing, nothing)


@single_thread("torch")
def repeated_rows(source: Source, count: int, seed: int) -> pa.Table:
    """One row per sequence, head and detector that is tried on repeated random tokens."""
    sequences, tables = Sequences(source.model, seed), [TABLE.empty_table()]
    numbers: Sequence[int] = range(count if sequences.length else 0)
    encoded = [sequences.draw(number) for number in numbers]
    groups = text_groups(source.model, encoded, MOST_TOKENS) if encoded else ()
    for example in source.maps_of(groups, numbers):
        draws = [sequences.draw(example.number, draw) for draw in range(1, DRAWS + 1)]
        tables += text_rows(example, source.model.layers, draws, REPEATED)
    return pa.concat_tables(tables).combine_chunks()
