"""Small pictures of all heads for notebooks: HTML with one image and no script."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.pooling import pool

CELL, GAP = 32, 3
PAPER, INK = (247, 249, 252), (8, 48, 107)
LEFT = "text-align:left;padding:1px 16px 1px 0"
LABEL = "font:11px system-ui,sans-serif;color:#7b8494;font-variant-numeric:tabular-nums"
HOW = (
    "layers down, heads across; in each map query down, key across; "
    "color is the square root of attention, each map from 0 to its largest value."
)


def facts_table(facts: Mapping[str, str]) -> str:
    """Names and values, a row each."""
    rows = "".join(
        f"<tr><th style='{LEFT}'>{html.escape(name)}</th><td style='{LEFT}'>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table style='font:13px system-ui,sans-serif;color:inherit;border:0'>{rows}</table>"


def grid(maps: NDArray[Any], caption: str) -> str:
    """Maps (layer, head, r, r) as one image with numbers of layers and heads, and a caption."""
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
        f"<img alt='{caption}' src='data:image/png;base64,{_png(picture)}' "
        f"style='display:block;{size};image-rendering:pixelated'>"
    )
    return (
        f"<div style='{LABEL};margin:8px 0 0 28px;white-space:nowrap'>{over}</div><div style='display:flex'>"
        f"<div style='{LABEL};width:24px;padding-right:4px;text-align:right'>{side}</div>{image}</div>"
        f"<div style='{LABEL};margin:4px 0 0 28px'>{caption}</div>"
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


def thumbnails(maps: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Full maps (head, query, key) of each layer, all in one size; NaN where a layer has fewer heads.

    >>> thumbnails([np.ones((2, 5, 5), np.float32), np.ones((1, 40, 5), np.float32)]).shape
    (2, 2, 32, 32)
    """
    pictures = np.full((len(maps), max(len(layer) for layer in maps), CELL, CELL), np.nan, np.float32)
    for number, layer in enumerate(maps):
        pictures[number, : len(layer)] = _resized(layer)
    return pictures


def _resized(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Short axes are repeated, so that each token stays sharp; if one is too long, both are pooled."""
    if max(maps.shape[1:]) > CELL:
        return pool(maps, CELL)
    rows, columns = (np.arange(CELL) * size // CELL for size in maps.shape[1:])
    return maps[:, rows][:, :, columns]


def _png(picture: NDArray[np.uint8]) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()
