"""Tokens that heads promote and suppress: what they write, through the last normalization and the unembedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import DataError
from headatlas.models import capture
from headatlas.models.encode import Tokens, readable
from headatlas.models.model import Layer
from headatlas.models.unembedding import Unembedding, unembedding
from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.measures import PLACE
from headatlas.stages.probe.moved import distinct
from headatlas.stages.probe.source import Source

LISTED = 10  # tokens of each head and direction
PAIRS_LISTED = 5  # pairs of each head
PAIR_TOKENS = 5  # tokens that a pair promotes
FEWEST = 4  # blocks of texts for an interval
PROMOTED, SUPPRESSED = "promoted", "suppressed"

WHOLE, REAL, TEXT = pa.int32(), pa.float64(), pa.string()
PAIR = [("example", pa.int64()), ("query_token", TEXT), ("key_token", TEXT), ("weight", REAL), ("moved", REAL),
        ("tokens", pa.list_(TEXT)), ("scores", pa.list_(REAL))]  # fmt: skip
PART = pa.schema([("example", pa.int64()), *PLACE, ("queries", WHOLE), ("written", pa.list_(pa.float32())),
                  ("pairs", pa.list_(pa.struct(PAIR)))])  # fmt: skip
TOKENS = pa.schema([*PLACE, ("kind", TEXT), ("rank", WHOLE), ("token", TEXT), ("score", REAL), ("low", REAL),
                    ("high", REAL), ("blocks", WHOLE)])  # fmt: skip
PAIRS = pa.schema([*PLACE, ("rank", WHOLE), *PAIR])


def found_unembedding(source: Source) -> Unembedding:
    """The unembedding of the model, found once."""

    def find() -> Unembedding:
        ends = unembedding(source.model, source.trial)
        if ends is None:
            raise DataError(
                f"{source.model.name} has no tokens to promote: no unembedding after a last normalization, as "
                "models of the next token have"
            )
        return ends

    result: Unembedding = source.once("unembedding", find)
    return result


@dataclass(frozen=True)
class Writing:
    """What the heads of one layer write in one text, at the scale that the last normalization gives each query."""

    layer: Layer
    tokens: Tokens
    inner: NDArray[np.int64]  # places of tokens that are neither special nor first: heads rest on those
    maps: Tensor  # (head, query, key)
    scale: Tensor  # (query,)
    parts: Tensor  # (head, key, hidden): what a weight of 1 on a key writes

    def sums(self) -> NDArray[np.float64]:
        """What each head writes, summed over queries: (head, hidden)."""
        weights = (self.maps * self.scale[:, None])[:, self.inner].sum(1, keepdim=True)  # (head, 1, key)
        summed: NDArray[np.float64] = (weights @ self.parts)[:, 0].double().numpy()
        return summed

    def strongest(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Tensor]:
        """For each head the query and key between which it writes most, and what it writes there, (head, hidden)."""
        norms = torch.linalg.vector_norm(self.parts, dim=-1)[:, None]
        moved = (self.maps * self.scale[:, None] * norms)[:, self.inner][:, :, self.inner]
        best = moved.flatten(1).argmax(1).numpy()
        query, key = (self.inner[place] for place in np.divmod(best, len(self.inner)))
        heads = np.arange(len(self.parts))
        weights = self.maps[heads, query, key] * self.scale[query]
        return query, key, weights[:, None] * self.parts[heads, key]


def writings(source: Source, numbers: list[int]) -> Iterator[tuple[int, Writing]]:
    """The number of each text, and what each layer writes in it; texts without inner tokens are left out."""
    ends, weights = found_unembedding(source), source.output_weights
    for group in source.batches(numbers):
        record = capture.Record(vectors=True)
        with ends.reading() as streams:
            capture.run(source.model, group.batch.inputs, record)
        for place, example in enumerate(group.encoded):
            length, tokens = group.batch.lengths[place], example.source
            inner = np.flatnonzero(~np.asarray(tokens.special, bool) & (np.arange(length) > 0))
            scale = ends.scale(streams[0][place, :length])
            for layer in source.model.layers if len(inner) else ():
                maps = record.maps[layer.index][place, :, :length, :length].float()
                values = record.values[layer.index][place, :, :length].float()
                parts = values.repeat_interleave(layer.heads // len(values), 0) @ weights[layer.index].weight
                yield numbers[group.places[place]], Writing(layer, tokens, inner, maps, scale, parts)


def part_table(source: Source, numbers: list[int]) -> pa.Table:
    """For each head what it writes, summed over the queries of a block; and its strongest pair in each text."""
    rows: dict[tuple[int, int], dict[str, Any]] = {
        (layer, head): {"example": numbers[0], "layer": layer, "head": head, "queries": 0, "written": 0.0, "pairs": []}
        for layer, head in source.heads
    }
    hidden = found_unembedding(source).weight.shape[0]
    for number, writing in writings(source, numbers):
        pairs = _pairs(source, number, writing)
        for head, total in enumerate(writing.sums()):
            row = rows[writing.layer.index, head]
            row |= {"queries": row["queries"] + len(writing.inner), "written": row["written"] + total}
            row["pairs"].append(pairs[head])
    for row in rows.values():
        row["written"] = np.broadcast_to(row["written"], hidden)
    return pa.Table.from_pylist(list(rows.values()), schema=PART)


def _pairs(source: Source, number: int, writing: Writing) -> list[dict[str, Any]]:
    """For each head the pair of tokens between which it writes most, and the tokens that this promotes."""
    query, key, vectors = writing.strongest()
    scores, ids = (vectors @ found_unembedding(source).weight).topk(PAIR_TOKENS, 1)
    return [
        {
            "example": number, "query_token": writing.tokens.text[query[head]],
            "key_token": writing.tokens.text[key[head]], "weight": float(writing.maps[head, query[head], key[head]]),
            "moved": float(vectors[head].norm()), "tokens": token_texts(source, ids[head]),
            "scores": scores[head].tolist(),
        }
        for head in range(len(vectors))
    ]  # fmt: skip


def token_texts(source: Source, ids: Any) -> list[str]:
    """The tokens of the vocabulary with these numbers, as people read them."""
    tokenizer = source.model.tokenizer
    known = len(tokenizer)
    names = [tokenizer.convert_ids_to_tokens(int(each)) if int(each) < known else f"[{int(each)}]" for each in ids]
    return readable(tokenizer, [name or "" for name in names])


def joined(source: Source, rows: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables `probe_tokens` and `probe_token_pairs`."""
    blocks = np.unique(rows["example"].to_numpy())
    heads = source.heads
    written = np.stack(rows["written"].to_numpy(zero_copy_only=False)).reshape(len(blocks), len(heads), -1)
    queries = rows["queries"].to_numpy().reshape(len(blocks), len(heads), 1)
    means = torch.from_numpy(written / np.maximum(queries, 1)).float()  # (block, head, hidden)
    table = [row for place, head in enumerate(heads) for row in _tokens_of(source, head, means[:, place])]
    pairs = []
    for (layer, head), listed in zip(heads, _pairs_by_head(rows, heads), strict=True):
        pairs += [{"layer": layer, "head": head, "rank": rank} | pair for rank, pair in enumerate(listed)]
    tables = {
        "probe_tokens": pa.Table.from_pylist(table, schema=TOKENS),
        "probe_token_pairs": pa.Table.from_pylist(pairs, schema=PAIRS),
    }
    return tables, {"blocks": len(blocks), "vocabulary": found_unembedding(source).weight.shape[1]}


def _tokens_of(source: Source, head: tuple[int, int], means: Tensor) -> Iterator[dict[str, Any]]:
    """Tokens that are promoted and suppressed most on every second block of texts, scored on the others."""
    ends = found_unembedding(source)
    chosen = means[::2].mean(0) @ ends.weight
    others = means[1::2] if len(means) > 1 else means
    for kind, sign in ((PROMOTED, 1), (SUPPRESSED, -1)):
        ids = (sign * chosen).topk(LISTED).indices
        scores = (others @ ends.weight[:, ids]).double().numpy()  # (block, token)
        estimate = mean_over_sources(scores, np.arange(len(scores)), FEWEST)
        for rank, token in enumerate(token_texts(source, ids)):
            low, high = (None if np.isnan(each[rank]) else float(each[rank]) for each in (estimate.low, estimate.high))
            yield {"layer": head[0], "head": head[1], "kind": kind, "rank": rank, "token": token,
                   "score": float(estimate.mean[rank]), "low": low, "high": high, "blocks": len(scores)}  # fmt: skip


def _pairs_by_head(rows: pa.Table, heads: list[tuple[int, int]]) -> list[list[dict[str, Any]]]:
    """The strongest pairs of each head, each pair of tokens once."""
    listed: dict[tuple[int, int], list[dict[str, Any]]] = {head: [] for head in heads}
    for row in rows.select(["layer", "head", "pairs"]).to_pylist():
        listed[row["layer"], row["head"]] += row["pairs"]
    return [distinct(sorted(pairs, key=_strength))[:PAIRS_LISTED] for pairs in listed.values()]


def _strength(pair: dict[str, Any]) -> tuple[float, int]:
    return -pair["moved"], pair["example"]
