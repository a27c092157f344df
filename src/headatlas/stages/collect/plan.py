"""The plan of a collection: all examples are written as tokens once, then collected in independent blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import progress
from headatlas.atlas import engine, schema
from headatlas.data import Dataset
from headatlas.errors import DataError
from headatlas.models.chat_text import rendered
from headatlas.models.encode import encode
from headatlas.models.model import Model
from headatlas.models.shuffle import shuffled
from headatlas.stages.collect.content import Content, read_content
from headatlas.stages.collect.dataset_tables import Row, TableWriter, batched, stored_row
from headatlas.stages.collect.options import Options
from headatlas.stages.collect.sampled import row_block, rows_for

BLOCK_BYTES = 16 << 20  # largest block of an array
SMALLEST_BLOCK = 8
NAMED = 20  # at most this many skipped examples are listed


@dataclass(frozen=True, slots=True)
class Plan:
    """All sizes, known before the first map is computed."""

    counts: dict[str, Any]
    block: int  # examples in a block
    rows: int  # of the arrays of vectors
    row_block: int  # rows in a block of them
    spans: tuple[str, ...] = ()  # kinds of spans between which attention is kept

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return int(-(-self.counts["examples"] // self.block))

    def examples(self, number: int) -> range:
        """The examples of a block."""
        return range(number * self.block, min((number + 1) * self.block, self.counts["examples"]))


PLAN = "plan"


def plan(
    result: engine.Result, model: Model, dataset: Dataset, options: Options, content: Content | None = None
) -> Plan:
    """The plan of this collection, read if it was written already; `content` is the dataset's, if already known."""
    if not result.pending([PLAN]):
        manifest = result.manifest(PLAN)
        assert manifest is not None  # it is not pending
        return Plan(**manifest["facts"])
    new_plan = _make(result, model, dataset, options, read_content(dataset) if content is None else content)
    files = [schema.TABLES[name].path(result.place.folder) for name in ("examples", "tokens", "sampled")]
    result.write_manifest(PLAN, files, asdict(new_plan))
    return new_plan


def _make(result: engine.Result, model: Model, dataset: Dataset, options: Options, content: Content) -> Plan:
    counts: dict[str, Any] = dict.fromkeys(("unknown", "windowed", "windows", "cut", "cut_tokens"), 0)
    counts |= {"lost_spans": 0} if content.spans else {}
    lengths = _write_tables(result, model, dataset, options, counts, content)
    counts |= {"examples": len(lengths), "tokens": sum(lengths), "skipped": len(dataset.skipped)}
    counts["skipped_named"] = [f"{skipped.id}: {skipped.reason}" for skipped in dataset.skipped[:NAMED]]
    sampled = _sample(lengths, options) if model.has_vectors else {}
    rows = row_block(list(sampled.values()))
    starts = np.cumsum([0, *(rows_for(tokens, rows) for tokens in sampled.values())])
    rows_of = {"example": list(sampled), "offset": starts[:-1], "tokens": list(sampled.values())}
    fields = pa.schema([("example", pa.int64()), ("offset", pa.int64()), ("tokens", pa.int32())])
    result.write_table("sampled", pa.Table.from_pydict(rows_of, schema=fields))
    heads = len(model.layers) * model.heads
    block = _block(len(lengths), heads * options.resolution**2 * 2)
    return Plan(counts, block, int(starts[-1]), rows, content.spans)


def _write_tables(
    result: engine.Result,
    model: Model,
    dataset: Dataset,
    options: Options,
    counts: dict[str, Any],
    content: Content,
) -> list[int]:
    """Write `examples` and `tokens` as the dataset is read; returns the number of tokens of each example."""
    tables = TableWriter(result, content.columns, model.grid, content.token_columns)
    with tables as writer, progress.bar("reading", None, "examples") as advance:
        for rows in batched(_rows(model, dataset, options, counts, content), schema.TABLE_ROWS):
            writer.write(rows)
            advance(len(rows))
        if not writer.lengths:
            raise DataError(f"{dataset.name} has no examples that {model.name} can read: every text is empty")
    return writer.lengths


def _rows(model: Model, dataset: Dataset, options: Options, counts: dict[str, Any], content: Content) -> Iterator[Row]:
    """One row of `examples` with its tokens per example, or per window."""
    unknown = getattr(model.tokenizer, "unk_token_id", None)
    number = 0  # of the next row
    for example in dataset:
        example = rendered(model.tokenizer, example)
        shared = stored_row(example, content.columns)
        if model.grid is not None:
            count = len(model.grid.special) + model.grid.rows * model.grid.columns
            yield shared | {"window": 0, "windows": 1, "n_tokens": count, "n_target": 0, "cut": 0}, None
            continue
        plain = replace(example, text=shared["text"], pair=shared["pair"])
        windows = encode(model, plain, max_tokens=options.max_tokens, overlong=options.overlong, window=dataset.window)
        if content.spans and windows:
            counts["lost_spans"] += windows[0].lost
        if len(windows) > 1:
            counts["windowed"] += 1
            counts["windows"] += len(windows)
        for encoded in windows:
            counts["cut"] += encoded.cut > 0
            counts["cut_tokens"] += encoded.cut
            counts["unknown"] += int((encoded.source.ids == unknown).sum()) if unknown is not None else 0
            sizes = {
                "n_tokens": len(encoded.source),
                "n_target": len(encoded.target) if encoded.target else 0,
                "cut": encoded.cut,
            }
            if dataset.shuffle is not None:
                encoded = shuffled(encoded, dataset.shuffle, number)
            yield shared | sizes | {"window": encoded.window, "windows": encoded.windows}, encoded
            number += 1


def _block(examples: int, size: int) -> int:
    """Examples in a block: a power of two, so that blocks divide the row groups; enough blocks for every core."""
    most = min(schema.TABLE_ROWS, max(1, BLOCK_BYTES // size), max(SMALLEST_BLOCK, examples // 16))
    return int(1 << (most.bit_length() - 1))


def _sample(lengths: list[int], options: Options) -> dict[int, int]:
    """Whole examples in random order, as many as fit; at least one unless `qk_tokens` is 0."""
    chosen: dict[int, int] = {}
    total = 0
    for example in np.random.default_rng(options.seed).permutation(len(lengths)):
        total += lengths[example]
        if options.qk_tokens == 0 or (chosen and total > options.qk_tokens):
            break
        chosen[int(example)] = lengths[example]
    return dict(sorted(chosen.items()))
