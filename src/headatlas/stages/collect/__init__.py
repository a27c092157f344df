"""Collect what every head does on every example: pooled maps, statistics, and a sample of queries and keys."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from headatlas import __version__, data, models, parallel, progress, wording
from headatlas.atlas.files import Files
from headatlas.atlas.schema import receipt_name
from headatlas.atlas.store import HEADER, Atlas
from headatlas.data import Dataset, Example
from headatlas.errors import DamagedChunk, OptionError
from headatlas.models.encode import Overlong
from headatlas.models.model import Model
from headatlas.stages.collect.block import Job, Work
from headatlas.stages.collect.plan import Options, Plan, plan
from headatlas.stages.collect.sampled import NAMES
from headatlas.stages.collect.stat_axis import statistics_of

__all__ = ["maps"]


def maps(
    model: Model | str,
    dataset: Dataset | str | Iterable[str] | Iterable[Example],
    path: str | os.PathLike[str],
    *,
    resolution: int = 32,
    max_tokens: int | None = None,
    overlong: Overlong = "truncate",
    qk_tokens: int = 20_000,
    seed: int = 0,
    batch_tokens: int = 2048,
    workers: int = 0,
    scheduler: str | None = None,
) -> Atlas:
    """Collect a dataset with a model into an atlas at `path`, or go on where an earlier run of the same call stopped.

    `resolution` is the side of the pooled maps. A text longer than `max_tokens` (or than the model takes) is truncated
    or, with `overlong="window"`, cut in overlapping windows. `qk_tokens` tokens in whole examples, drawn with `seed`,
    keep their queries and keys. `workers` processes or a Dask `scheduler` share the work without changing a bit of it.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://two.atlas")
    >>> atlas.read("pooled").shape  # (example, layer, head, query, key)
    (2, 6, 12, 32, 32)
    """
    options = _options(Options(resolution, max_tokens, overlong, qk_tokens, seed, batch_tokens))
    texts = dataset if isinstance(dataset, Dataset) else data.load(dataset)
    if not isinstance(model, Model):
        model = models.load(model, modality=texts.modality)
    elsewhere = bool(workers) or scheduler is not None
    if elsewhere and model.source is None:
        raise OptionError("workers load the model by its name: save this one with save_pretrained and give its folder")
    for note in model.notes:
        progress.say(f"{model.name}: {note}")
    atlas = _begin(path, model, texts, options)
    made = plan(atlas, model, texts, options)
    _report(made.counts, model)
    _lay_out(atlas, model, made, options)
    here = None if elsewhere else model
    job = Job(atlas.files.absolute, options, made, model.modality, model.hash, model.source, here)
    _work(atlas, job, workers, scheduler)
    return _finish(atlas, model, made)


def _options(options: Options) -> Options:
    if not 2 <= options.resolution <= 256:
        raise OptionError(f"resolution {options.resolution}: choose a side of the pooled maps between 2 and 256")
    if options.max_tokens is not None and options.max_tokens < 4:
        raise OptionError(f"max_tokens {options.max_tokens}: at least 4 are needed")
    if options.overlong not in ("truncate", "window"):
        raise OptionError(f"overlong {options.overlong!r}: choose truncate or window")
    if options.qk_tokens < 0 or options.batch_tokens < 1:
        raise OptionError("qk_tokens cannot be negative, and batch_tokens must be at least 1")
    return options


def _begin(path: str | os.PathLike[str], model: Model, dataset: Dataset, options: Options) -> Atlas:
    """Create the atlas, or open it and make sure that it is the same collection."""
    recipe = {
        "options": asdict(options),
        "model": {"hash": model.hash, "modality": model.modality},
        "data": dataset.fingerprint,
        "version": __version__,
    }
    files = Files(path)
    if not files.exists(HEADER):
        header = {
            "model": model.facts(),
            "data": {"name": dataset.name, "modality": dataset.modality, "fingerprint": dataset.fingerprint},
            "stages": {"collect": {"recipe": recipe, "done": False}},
        }
        return Atlas.create(path, header)
    atlas = Atlas.open(path)
    there = atlas.header["stages"]["collect"]["recipe"]
    differences = _differences(there, recipe)
    if differences:
        raise OptionError(
            f"{files.url} is another collection: {'; '.join(differences)}. "
            "Give the same options to go on with it, or another place with -o"
        )
    atlas.files.sweep()
    return atlas


def _differences(there: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    names = {
        "model": "weights or settings of the model",
        "data": "contents of the dataset",
        "version": "version of headatlas",
    }
    found = [
        f"{name} is {there['options'].get(name)} there and {value} here"
        for name, value in asked["options"].items()
        if there["options"].get(name) != value
    ]
    for key, name in names.items():
        if there[key] != asked[key]:
            values = f" ({there[key]} there, {asked[key]} here)" if key == "version" else ""
            found.append(f"the {name} {'differs' if key == 'version' else 'differ'}{values}")
    return found


def _report(counts: dict[str, Any], model: Model) -> None:
    """Say what was left out or cut: never silently."""
    if counts["skipped"]:
        shown = "; ".join(counts["skipped_named"][:5]) + (" …" if counts["skipped"] > 5 else "")
        progress.say(f"skipped: {wording.many(counts['skipped'], 'example')} ({shown})")
    if counts["cut"]:
        lost = f"{wording.many(counts['cut'], 'text')} ({wording.many(counts['cut_tokens'], 'token')} lost)"
        progress.say(f"truncated: {lost}; --overlong window keeps all of it")
    if counts["windowed"]:
        progress.say(f"cut in windows: {wording.many(counts['windowed'], 'text')} in {counts['windows']:,} windows")
    if counts["unknown"] > counts["tokens"] / 5:
        share = wording.percent(counts["unknown"] / counts["tokens"])
        progress.say(f"{share} of all tokens are unknown to the tokenizer of {model.name}: does it fit these texts?")


def _lay_out(atlas: Atlas, model: Model, made: Plan, options: Options) -> None:
    r = options.resolution
    names = list(statistics_of(model).names)
    sizes = {"example": made.counts["examples"], "block": made.blocks, "row": made.rows, "layer": len(model.layers)}
    sizes |= {"head": model.heads, "key_head": model.key_heads, "query": r, "key": r}
    sizes |= {"feature": model.width, "stat": len(names)}
    atlas.create_array("pooled", sizes, made.block, {})
    atlas.create_array("pooled_mean", sizes, 1, {})
    atlas.create_array("stats", sizes, made.block, {"stats": names})
    for name in NAMES if made.rows else ():
        atlas.create_array(name, sizes, made.row_block, {})


def _work(atlas: Atlas, job: Job, workers: int, scheduler: str | None) -> None:
    pending = [number for number in range(job.plan.blocks) if not _done(atlas, number)]
    threads = torch.get_num_threads()
    total = sum(len(job.plan.examples(number)) for number in pending)
    try:
        with (
            progress.bar("collecting", total, "examples") as advance,
            closing(parallel.run(Work(job), pending, workers=workers, scheduler=scheduler)) as results,
        ):
            for count in results:
                advance(count)
    finally:
        torch.set_num_threads(threads)


def _done(atlas: Atlas, number: int) -> bool:
    try:
        return atlas.receipt("collect", receipt_name(number)) is not None
    except DamagedChunk as error:
        progress.say(f"{error}: computed anew")
        return False


def _finish(atlas: Atlas, model: Model, made: Plan) -> Atlas:
    """Tables of layers and heads, and the mark that all is there."""
    stage = atlas.header["stages"]["collect"]
    if not stage["done"] or not {"layers", "heads"} <= set(atlas.tables()):
        atlas.write_table("layers", pa.Table.from_pylist([asdict(layer) for layer in model.layers]))
        atlas.write_table("heads", _heads(atlas, model, made))
        stage |= {"done": True, "counts": made.counts, "block": made.block, "stats": list(statistics_of(model).names)}
        atlas.write_header()
    return atlas


def _heads(atlas: Atlas, model: Model, made: Plan) -> pa.Table:
    """Mean of each statistic over all examples, summed block by block in the order of examples."""
    names = statistics_of(model).names
    shape = (len(model.layers), model.heads, len(names))
    sums, counts = np.zeros(shape), np.zeros(shape, np.int64)
    for start in range(0, made.counts["examples"], made.block):
        values = atlas.read("stats", slice(start, start + made.block)).astype(np.float64)
        sums += np.nansum(values, 0)
        counts += (~np.isnan(values)).sum(0)
    with np.errstate(invalid="ignore"):
        means = sums / counts
    rows = [
        {"layer": layer.index, "head": head, "kind": layer.kind, "key_head": head * layer.key_heads // layer.heads}
        | dict(zip(names, means[layer.index, head].tolist(), strict=True))
        for layer in model.layers
        for head in range(layer.heads)
    ]
    return pa.Table.from_pylist(rows)
