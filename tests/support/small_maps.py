"""Small maps with made-up tokens: what the kernel computes for them, by the names of the statistics."""

from types import SimpleNamespace

import numpy as np

from headatlas.models.encode import Tokens
from headatlas.models.model import Grid
from headatlas.stages.collect import kernel
from headatlas.stages.collect.layout import image_layout, text_layout
from headatlas.stages.collect.stat_axis import statistics_of

VOCABULARY = ("[CLS]", "[SEP]", ".", ",", "?", "”", "##a", "b")  # a token's id is its position
SPECIALS = {"special:[CLS]": 0, "special:[SEP]": 1}  # as the statistics call them
SEPARATOR = 1


def text_axis():
    """The statistics of a text model with these special tokens."""
    tokenizer = SimpleNamespace(cls_token="[CLS]", cls_token_id=0, sep_token="[SEP]", sep_token_id=SEPARATOR)
    return statistics_of(SimpleNamespace(modality="text", tokenizer=tokenizer))


def image_axis(grid):
    return statistics_of(SimpleNamespace(modality="image", grid=grid))


def grid():
    return Grid(special=("[CLS]", "[REG1]", "[REG2]"), rows=3, columns=4)


def tokens(rng, n):
    """Random tokens, special ones and two segments among them."""
    ids = rng.integers(0, len(VOCABULARY), n).astype(np.int32)
    segment = np.sort(rng.integers(0, 2, n)).astype(np.int8)
    blank = np.zeros(n, np.int32)
    return Tokens(ids, [VOCABULARY[number] for number in ids], blank, ids < 2, segment, blank, blank)


def words(n):
    """Tokens that are all words, each another one."""
    blank = np.zeros(n, np.int32)
    ids = np.arange(len(VOCABULARY), len(VOCABULARY) + n, dtype=np.int32)
    return Tokens(ids, [f"w{number}" for number in ids], blank, np.zeros(n, bool), blank.astype(np.int8), blank, blank)


def softmax(scores, causal=False):
    """Attention in float64."""
    exact = np.where(np.tri(*scores.shape[-2:], dtype=bool) | (not causal), scores.astype(np.float64), -np.inf)
    exact = np.exp(exact - exact.max(-1, keepdims=True))
    return exact / exact.sum(-1, keepdims=True)


def reduced(scores, layout, axis, r, kind="encoder", causal=False):
    """Attention, pooled maps and statistics of scores (head, query, key), by the kernel."""
    heads, n, m = scores.shape
    last = np.arange(1, n + 1) if causal else np.full(n, m)
    attention = scores.copy()
    pooled, sums = np.empty((heads, r, r), np.float32), np.empty((heads, axis.count))
    kernel.reduce_heads(attention, np.stack([np.zeros(n, np.int64), last]), last, layout, pooled, sums)
    return attention, pooled, axis.from_sums(sums, kind, m)


def text_statistics(scores, queries, keys, r=4, causal=False):
    """Attention, pooled maps and statistics of a text; in cross attention its keys are not its queries."""
    axis = text_axis()
    layout = text_layout(queries, keys, axis.specials, axis.separator, r, causal)
    return reduced(scores, layout, axis, r, "encoder" if queries is keys else "cross", causal)


def image_statistics(scores, grid, r=4):
    return reduced(scores, image_layout(grid, r), image_axis(grid), r)
