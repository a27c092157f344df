"""The representation of an atlas: text in a terminal, the grid of heads in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.checksums import MANIFESTS
from headatlas.atlas.store import source_of
from headatlas.wording import join_list, many, result_line

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas


def text(atlas: Atlas) -> str:
    """What exists and what is missing, one line each."""
    lines = [f"{atlas.files.url}   format {atlas.header['format']} · {atlas.files.size() / 1e6:,.1f} MB"]
    lines += [f"  model     {_model(atlas)}", f"  data      {_data(atlas)}"]
    for stage, declared in schema.STAGES.items():
        if not declared.listed and not atlas.entries(stage):
            continue
        lines.append(f"  {stage:9} {_state(atlas, stage)}")
        lines += _collected(atlas) if stage == schema.COLLECT else _results(atlas, stage)
        tables = [table.name for table in declared.tables if table.name in atlas.tables()]
        lines += [f"              tables       {', '.join(tables)}"] * bool(tables)
    return "\n".join(lines)


def _collected(atlas: Atlas) -> list[str]:
    lines = []
    for spec in schema.STAGES[schema.COLLECT].arrays if atlas.results(schema.COLLECT) else ():
        if spec.name in atlas.arrays():
            sizes = zip(atlas.array(spec.name).shape, spec.axes, strict=True)
            shape = " × ".join(f"{size:,} {axis}" for size, axis in sizes)
            lines.append(f"              {spec.name:12} {shape}  {spec.dtype}")
    return lines


def _results(atlas: Atlas, stage: str) -> list[str]:
    """A line for each result: its name, what it was made from, and a short description."""
    lines = []
    for name, result in atlas.results(stage).items():
        source = source_of(result, stage)
        lines.append(
            f"              {name:12} {result_line(stage, result['facts'])}" + (f"  (of {source})" if source else "")
        )
    for entry in atlas.entries(stage):
        if not entry["done"]:
            lines.append(f"              {entry['name']:12} … unfinished: run the same command again to continue")
    return lines


def _model(atlas: Atlas) -> str:
    facts = atlas.header["model"]
    kinds: dict[str, int] = {}
    for layer in facts["layers"]:
        kinds[layer["kind"]] = kinds.get(layer["kind"], 0) + 1
    layers = " + ".join(f"{count} {kind}" for kind, count in kinds.items())
    shared = f" ({facts['key_heads']} key heads)" if facts["key_heads"] != facts["heads"] else ""
    return f"{facts['name']} ({facts['family']}): {layers} layers × {facts['heads']} heads{shared}"


def _data(atlas: Atlas) -> str:
    data, counts = atlas.header["data"], _counts(atlas)
    what = "image" if data["modality"] == "image" else "text"
    if not counts:
        return str(data["name"])
    parts = [many(counts["examples"], what), many(counts["tokens"], "token")]
    parts += [f"{counts['windowed']:,} cut in {counts['windows']:,} windows"] * bool(counts["windowed"])
    parts += [f"{counts['cut']:,} truncated"] * bool(counts["cut"])
    parts += [f"{many(counts.get('lost_spans', 0), 'span')} lost"] * bool(counts.get("lost_spans"))
    parts += [f"{counts['skipped']:,} skipped"] * bool(counts["skipped"])
    kinds = atlas.collection.get("spans", [])
    parts += [f"spans: {join_list(kinds)}"] * bool(kinds)
    return f"{data['name']}: {', '.join(parts)}"


def _counts(atlas: Atlas) -> dict[str, Any]:
    counts: dict[str, Any] = atlas.collection["counts"] if atlas.results(schema.COLLECT) else {}
    return counts


def _state(atlas: Atlas, stage: str) -> str:
    if stage in atlas.done:
        return "✓ complete"
    if stage == schema.COLLECT:
        names = atlas.files.names(f"{MANIFESTS}/{schema.COLLECT}")
        blocks = sum(name.startswith("block-") for name in names)
        return f"… unfinished ({blocks} blocks written): run the same `headatlas collect` command to continue"
    return f"– missing: {atlas.command(stage)}"


def html(atlas: Atlas) -> str:
    """The grid of heads, each cell the head's mean pooled map; layers run down, heads across."""
    from headatlas.models.pictures import HOW, facts_table, grid  # which imports torch

    facts = {"model": _model(atlas), "data": _data(atlas), "collect": _state(atlas, "collect")}
    for name, stage in schema.STAGES.items():
        if stage.listed and name != schema.COLLECT and name in atlas.done:
            facts[name] = ", ".join(atlas.results(name))
    pictures = grid(mean_maps(atlas), f"Mean map of each head: {HOW}") if "collect" in atlas.done else ""
    return f"<div>{facts_table(facts)}{pictures}</div>"


def mean_maps(atlas: Atlas) -> NDArray[np.float64]:
    """Mean pooled map of each head over all examples, (layer, head, r, r)."""
    from headatlas.numeric.metrics import weighted_mean

    means = atlas.read("pooled_mean")
    block, examples = atlas.collection["block"], _counts(atlas)["examples"]
    return weighted_mean(means, np.diff(np.minimum(np.arange(len(means) + 1) * block, examples)))
