"""The keys that belong to each query: previous token, same token, what followed the same token, and others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headatlas.data.pieces import PUNCTUATION, plain, sentences
from headatlas.models.encode import Tokens
from headatlas.models.model import Grid

Mask = NDArray[np.bool_]  # (query, key)
Ints = NDArray[np.int64]

NEAR = 4  # tokens on each side of a local window


class Labels(NamedTuple):
    """What detectors know about the tokens of one side of a map."""

    ids: NDArray[np.int32]
    special: NDArray[np.bool_]
    punctuation: NDArray[np.bool_]
    sentence: Ints  # -1 for special tokens

    @property
    def inner(self) -> NDArray[np.bool_]:
        """Tokens that are neither the first nor special: many heads rest on those, whatever they are."""
        return ~self.special & (np.arange(len(self.ids)) > 0)


def labels(tokens: Tokens) -> Labels:
    """The labels of tokens."""
    punctuation = np.array([plain(piece) in PUNCTUATION for piece in tokens.text], bool)
    special = np.asarray(tokens.special, bool)
    return Labels(tokens.ids, special, punctuation, sentences(tokens.text, special, tokens.segment))


def _away(queries: Labels, keys: Labels) -> Ints:
    """How many places after the query each key is, (query, key)."""
    away: Ints = np.arange(len(keys.ids))[None, :] - np.arange(len(queries.ids))[:, None]
    return away


def previous(queries: Labels, keys: Labels) -> Mask:
    """The token before the query."""
    mask: Mask = _away(queries, keys) == -1
    return mask


def following(queries: Labels, keys: Labels) -> Mask:
    """The token after the query."""
    mask: Mask = _away(queries, keys) == 1
    return mask


def itself(queries: Labels, keys: Labels) -> Mask:
    """The query itself."""
    mask: Mask = _away(queries, keys) == 0
    return mask


def local(queries: Labels, keys: Labels) -> Mask:
    """The nearest tokens on both sides."""
    away = np.abs(_away(queries, keys))
    return (away > 0) & (away <= NEAR)


def first(queries: Labels, keys: Labels) -> Mask:
    """The first token, for all other queries."""
    mask = np.zeros((len(queries.ids), len(keys.ids)), bool)
    mask[0 if queries is not keys else 1 :, 0] = True
    return mask


def separator(queries: Labels, keys: Labels) -> Mask:
    """Special tokens other than the first."""
    return _to(queries, keys, keys.special & (np.arange(len(keys.ids)) > 0))


def punctuation(queries: Labels, keys: Labels) -> Mask:
    """Full stops and commas."""
    return _to(queries, keys, keys.punctuation & keys.inner)


def _to(queries: Labels, keys: Labels, marked: NDArray[np.bool_]) -> Mask:
    """Marked keys for all queries, but the query itself."""
    mask = np.repeat(marked[None, :], len(queries.ids), 0)
    return mask & (_away(queries, keys) != 0) if queries is keys else mask


def _equal(queries: Labels, keys: Labels) -> Mask:
    """Whether query and key are the same token, and not special."""
    same: Mask = queries.ids[:, None] == keys.ids[None, :]
    return same & ~queries.special[:, None] & ~keys.special[None, :]


def duplicate(queries: Labels, keys: Labels) -> Mask:
    """The same token elsewhere."""
    same = _equal(queries, keys) & keys.inner
    return same & (_away(queries, keys) != 0) if queries is keys else same


def induction(queries: Labels, keys: Labels) -> Mask:
    """Keys after an earlier occurrence of the query; in cross attention, after any occurrence."""
    mask = np.zeros((len(queries.ids), len(keys.ids)), bool)
    mask[:, 1:] = _equal(queries, keys)[:, :-1]
    mask &= keys.inner
    return mask & (_away(queries, keys) < -1) if queries is keys else mask


def mirror(queries: Labels, keys: Labels) -> Mask:
    """Keys before a later occurrence of the query."""
    mask = np.zeros((len(queries.ids), len(keys.ids)), bool)
    mask[:, :-1] = _equal(queries, keys)[:, 1:]
    return mask & keys.inner & (_away(queries, keys) > 1)


def copied(queries: Labels, keys: Labels) -> Mask:
    """Earlier occurrences of the token after the query."""
    mask = np.zeros((len(queries.ids), len(keys.ids)), bool)
    mask[:-1] = _equal(queries, keys)[1:]
    return mask & keys.inner & (_away(queries, keys) < -1)


def same_sentence(queries: Labels, keys: Labels) -> Mask:
    """Other tokens of the sentence."""
    same: Mask = queries.sentence[:, None] == keys.sentence[None, :]
    same &= (queries.sentence >= 0)[:, None] & keys.inner & (_away(queries, keys) != 0)
    return same


def _size(grid: Grid) -> int:
    return len(grid.special) + grid.rows * grid.columns


def patch_itself(grid: Grid) -> Mask:
    """The patch or special token itself."""
    return np.eye(_size(grid), dtype=bool)


def first_special(grid: Grid) -> Mask:
    """The first special token, for all others; none if there is none."""
    mask = np.zeros((_size(grid), _size(grid)), bool)
    mask[1:, 0] = bool(grid.special)
    return mask


def other_special(grid: Grid) -> Mask:
    """Special tokens other than the first."""
    mask = np.zeros((_size(grid), _size(grid)), bool)
    mask[:, 1 : len(grid.special)] = True
    return mask & ~np.eye(_size(grid), dtype=bool)


def patches_around(grid: Grid) -> Mask:
    """The patches that touch the query, up to eight."""
    row, column = np.divmod(np.arange(grid.rows * grid.columns), grid.columns)
    steps = np.maximum(np.abs(row[:, None] - row), np.abs(column[:, None] - column))
    mask = np.zeros((_size(grid), _size(grid)), bool)
    mask[len(grid.special) :, len(grid.special) :] = steps == 1
    return mask
