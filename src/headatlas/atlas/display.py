"""The representation of an atlas: text in a terminal, the grid of heads in a notebook."""

from __future__ import annotations

import base64
import html as markup
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas import schema
from headatlas.atlas.checksums import MANIFESTS
from headatlas.atlas.store import source_of
from headatlas.wording import many, result_line

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

CELL, GAP = 32, 3
PAPER, INK = (247, 249, 252), (8, 48, 107)
LEFT = "text-align:left;padding:1px 16px 1px 0"
LABEL = "font:11px system-ui,sans-serif;color:#7b8494;font-variant-numeric:tabular-nums"
CAPTION = (
    "Mean map of each head: layers down, heads across; in each map query down, key across; "
    "color is the square root of attention, each map from 0 to its largest value."
)


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
    parts += [f"{counts['skipped']:,} skipped"] * bool(counts["skipped"])
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
    rows = "".join(
        f"<tr><th style='{LEFT}'>{name}</th><td style='{LEFT}'>{markup.escape(value)}</td></tr>"
        for name, value in (("model", _model(atlas)), ("data", _data(atlas)), ("collect", _state(atlas, "collect")))
    )
    head = f"<table style='font:13px system-ui,sans-serif;color:inherit;border:0'>{rows}</table>"
    return f"<div>{head}{_grid(atlas) if 'collect' in atlas.done else ''}</div>"


def mean_maps(atlas: Atlas) -> NDArray[np.float64]:
    """Mean pooled map of each head over all examples, (layer, head, r, r)."""
    from headatlas.numeric.metrics import weighted_mean

    means = atlas.read("pooled_mean")
    block, examples = atlas.collection["block"], _counts(atlas)["examples"]
    return weighted_mean(means, np.diff(np.minimum(np.arange(len(means) + 1) * block, examples)))


def _grid(atlas: Atlas) -> str:
    maps = mean_maps(atlas)
    picture = draw(maps)
    layers, heads = maps.shape[:2]
    scale = min(1.5, 1100 / picture.shape[1])
    cell = (CELL + GAP) * scale
    over = "".join(
        f"<span style='display:inline-block;width:{cell:.2f}px;text-align:center'>{h}</span>" for h in range(heads)
    )
    side = "".join(f"<div style='height:{cell:.2f}px;line-height:{cell:.2f}px'>{n}</div>" for n in range(layers))
    size = f"width:{picture.shape[1] * scale:.1f}px;height:{picture.shape[0] * scale:.1f}px"
    image = (
        f"<img alt='{CAPTION}' src='data:image/png;base64,{_png(picture)}' "
        f"style='display:block;{size};image-rendering:pixelated'>"
    )
    return (
        f"<div style='{LABEL};margin:8px 0 0 28px;white-space:nowrap'>{over}</div><div style='display:flex'>"
        f"<div style='{LABEL};width:24px;padding-right:4px;text-align:right'>{side}</div>{image}</div>"
        f"<div style='{LABEL};margin:4px 0 0 28px'>{CAPTION}</div>"
    )


def draw(maps: NDArray[Any]) -> NDArray[np.uint8]:
    """Maps (layer, head, r, r) as one RGBA picture; gaps, and heads that do not exist, are transparent."""
    layers, heads, r, _ = maps.shape
    values = np.sqrt(np.clip(maps, 0, None))
    top = np.nan_to_num(values).max(axis=(2, 3), keepdims=True)
    cells = np.arange(CELL) * r // CELL
    values = (values / np.where(top > 0, top, 1))[:, :, cells][:, :, :, cells]
    paper, ink = np.array(PAPER, float), np.array(INK, float)
    picture = np.zeros((layers, CELL + GAP, heads, CELL + GAP, 4), np.uint8)
    colors = paper + (ink - paper) * np.nan_to_num(values)[..., None]
    opaque = np.where(np.isnan(values), 0, 255)[..., None]
    picture[:, :CELL, :, :CELL] = np.concatenate([colors.round(), opaque], -1).transpose(0, 2, 1, 3, 4)
    return picture.reshape(layers * (CELL + GAP), heads * (CELL + GAP), 4)


def _png(picture: NDArray[np.uint8]) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()
