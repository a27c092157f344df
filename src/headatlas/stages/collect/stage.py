"""From options to a finished collection: the part of the stage that needs torch."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import models, progress, wording
from headatlas.atlas import engine
from headatlas.atlas.files import Files
from headatlas.atlas.header import HEADER, restore
from headatlas.atlas.store import Atlas
from headatlas.data import Dataset
from headatlas.errors import ModelError, OptionError
from headatlas.models.load import ModelLike
from headatlas.models.model import Model
from headatlas.models.value_norms import value_norms
from headatlas.numeric.threads import single_thread
from headatlas.stages.collect.block import CollectBlock, CollectJob, Observer
from headatlas.stages.collect.content import read_content
from headatlas.stages.collect.options import Options
from headatlas.stages.collect.plan import Plan, plan
from headatlas.stages.collect.sampled import NAMES
from headatlas.stages.collect.stat_axis import statistics_of

Observing = Callable[[Atlas], AbstractContextManager[Observer | None]]


def collect(
    model: ModelLike,
    texts: Dataset,
    path: str | os.PathLike[str],
    options: Options,
    workers: int,
    scheduler: str | None,
    observing: Observing = lambda atlas: nullcontext(),
) -> Atlas:
    """Collect a dataset with a model into an atlas, or continue; see `collect.maps`.

    `observing` opens what else is made of the forward passes, with a handle that sees the unfinished collection.
    """
    if not isinstance(model, Model):
        model = models.load(model, modality=texts.modality)
    elsewhere = bool(workers) or scheduler is not None
    if elsewhere and model.source is None:
        raise OptionError("workers load the model by name: save this one with save_pretrained and pass its folder")
    for note in model.notes:
        progress.say(f"{model.name}: {note}")
    if options.norms:
        _check_norms(model)
    restore(path)
    begun = Files(path).exists(HEADER) and bool(Atlas.open(path).entries("collect"))
    content = None if begun else read_content(texts)  # reads every example: an error leaves nothing behind
    atlas = _atlas(path, model, texts, options)
    with engine.result(atlas, "collect", "collect", options.recipe(), inputs=_inputs(model, texts)) as result:
        if not result.finished:
            collection_plan = plan(result, model, texts, options, content)
            _report(collection_plan.counts, model)
            names = list(statistics_of(model, collection_plan.spans, options.norms).names)
            _create_arrays(result, model, collection_plan, options, names)
            with observing(result.atlas) as observer:
                job = CollectJob(
                    result.place,
                    options,
                    collection_plan,
                    model.modality,
                    model.hash,
                    model.source,
                    None if elsewhere else model,
                    observer,
                )
                _collect(result, job, workers, scheduler)
            _finish(result, model, collection_plan, names)
    return atlas


def _check_norms(model: Model) -> None:
    """Raise an error if it is not known what heads write, before anything is written."""
    try:
        value_norms(model)
    except ModelError as error:
        raise ModelError(f"{error}. Collect without norms (--norms)") from error


def _inputs(model: Model, dataset: Dataset) -> dict[str, Any]:
    return {"model": {"hash": model.hash, "modality": model.modality}, "data": dataset.fingerprint}


def _atlas(path: str | os.PathLike[str], model: Model, dataset: Dataset, options: Options) -> Atlas:
    """Create the atlas, or open it and check that it is the same collection."""
    data = {"name": dataset.name, "modality": dataset.modality, "fingerprint": dataset.fingerprint}
    if dataset.group is not None:
        data["group"] = dataset.group
    header = {"model": model.facts(), "data": data}
    atlas = Atlas.open(path) if Files(path).exists(HEADER) else Atlas.create(path, header)
    if not atlas.entries("collect"):  # a run may have stopped before it started
        with atlas.editing() as current:
            current |= header
        return atlas
    requested = engine.recipe(options.recipe(), _inputs(model, dataset))
    differences = _differences(atlas.entries("collect")[0]["recipe"], requested)
    if differences:
        raise OptionError(
            f"{atlas.files.url} is another collection: {'; '.join(differences)}. "
            "Use the same options to continue it, or another path with -o"
        )
    return atlas


def _differences(existing: dict[str, Any], requested: dict[str, Any]) -> list[str]:
    """Sentences about the differences between two recipes."""
    before, now = ({"norms": False} | recipe["options"] for recipe in (existing, requested))
    differences = [
        f"{name} is {before.get(name)} there and {value} here"
        for name, value in now.items()
        if before.get(name) != value
    ]
    for name, what in (("model", "weights or settings of the model"), ("data", "contents of the dataset")):
        if existing["inputs"][name] != requested["inputs"][name]:
            differences.append(f"the {what} differ")
    if existing["version"] != requested["version"]:
        versions = f"({existing['version']} there, {requested['version']} here)"
        differences.append(f"the version of headatlas differs {versions}")
    return differences


def _report(counts: dict[str, Any], model: Model) -> None:
    """Report what was skipped or cut."""
    if counts["skipped"]:
        shown = "; ".join(counts["skipped_named"][:5]) + (" …" if counts["skipped"] > 5 else "")
        progress.say(f"skipped: {wording.many(counts['skipped'], 'example')} ({shown})")
    if counts["cut"]:
        lost = f"{wording.many(counts['cut'], 'text')} ({wording.many(counts['cut_tokens'], 'token')} lost)"
        progress.say(f"truncated: {lost}; --overlong window keeps the whole text")
    if counts.get("lost_spans"):
        progress.say(f"lost to truncation: {wording.many(counts['lost_spans'], 'span')}")
    if counts["windowed"]:
        progress.say(f"cut in windows: {wording.many(counts['windowed'], 'text')} in {counts['windows']:,} windows")
    if counts["unknown"] > counts["tokens"] / 5:
        share = wording.percent(counts["unknown"] / counts["tokens"])
        progress.say(f"{share} of all tokens are unknown to the tokenizer of {model.name}: does it fit these texts?")


def _create_arrays(result: engine.Result, model: Model, plan: Plan, options: Options, names: list[str]) -> None:
    r = options.resolution
    sizes = {"example": plan.counts["examples"], "block": plan.blocks, "row": plan.rows, "layer": len(model.layers)}
    sizes |= {"head": model.heads, "key_head": model.key_heads, "query": r, "key": r}
    sizes |= {"feature": model.width, "stat": len(names)}
    result.create_array("pooled", sizes, plan.block)
    result.create_array("pooled_mean", sizes, 1)
    result.create_array("stats", sizes, plan.block, {"stats": names})
    for name in NAMES if plan.rows else ():
        result.create_array(name, sizes, plan.row_block)


def _collect(result: engine.Result, job: CollectJob, workers: int, scheduler: str | None) -> None:
    ranges = [job.plan.examples(number) for number in range(job.plan.blocks)]
    with single_thread():
        engine.run_blocks(result, CollectBlock(job), ranges, "collecting", workers=workers, scheduler=scheduler)


def _finish(result: engine.Result, model: Model, plan: Plan, names: list[str]) -> None:
    """Write the tables of layers and heads."""
    files = [
        result.write_table("layers", pa.Table.from_pylist([asdict(layer) for layer in model.layers])),
        result.write_table("heads", _heads(result.atlas, model, plan, names)),
    ]
    facts = {"counts": plan.counts, "block": plan.block, "stats": names}
    facts |= {"spans": list(plan.spans)} if plan.spans else {}
    result.finish(facts, files)


def _heads(atlas: Atlas, model: Model, plan: Plan, names: list[str]) -> pa.Table:
    """Mean of each statistic over all examples, summed block by block in the order of examples."""
    shape = (len(model.layers), model.heads, len(names))
    sums, counts = np.zeros(shape), np.zeros(shape, np.int64)
    for start in range(0, plan.counts["examples"], plan.block):
        values = atlas.read("stats", slice(start, start + plan.block)).astype(np.float64)
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
