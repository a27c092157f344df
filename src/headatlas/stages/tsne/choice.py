"""Which heads are requested: all, a layer, a head, or several of these."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.models.model import Layer, Model
from headatlas.stages.tsne.layout_tables import Head

Wanted = str | Head | Iterable[str | Head]
NAME = re.compile(r"L(\d+)[·.:]?(?:H(\d+))?", re.IGNORECASE)


def choose(model: Model, wanted: Wanted) -> list[Head]:
    """The requested heads of a model, in order."""
    return choose_heads(model.name, model.layers, wanted)


def choose_heads(model: str, layers: Sequence[Layer], wanted: Wanted) -> list[Head]:
    """The requested heads, in order, from the name and the layers of a model."""
    all_heads = every_head(layers)
    heads = sorted(set(_named(wanted, all_heads)))
    unknown = [head for head in heads if head not in set(all_heads)]
    if unknown or not heads:
        what = f"L{unknown[0][0]}·H{unknown[0][1]}" if unknown else repr(wanted)
        sizes = ", ".join(sorted({str(layer.heads) for layer in layers}))
        raise OptionError(f"{model} has no {what}: it has {len(layers)} layers of {sizes} heads, from 0 on")
    return heads


def layers_of(atlas: Atlas) -> tuple[Layer, ...]:
    """The layers of the model an atlas was made with; the model is not loaded."""
    return tuple(Layer(**facts) for facts in atlas.header["model"]["layers"])


def every_head(layers: Sequence[Layer]) -> list[Head]:
    """All heads, in order."""
    return [(layer.index, head) for layer in layers for head in range(layer.heads)]


def spell(heads: Sequence[Head], layers: Sequence[Layer]) -> str:
    """The same heads as a short text that `choose` understands, for recipes."""
    if list(heads) == every_head(layers):
        return "all"
    names: list[str] = []
    for layer in layers:
        numbers = [head for index, head in heads if index == layer.index]
        complete = len(numbers) == layer.heads
        names += [f"L{layer.index}"] if complete else [f"L{layer.index}·H{head}" for head in numbers]
    return " ".join(names)


def _named(wanted: Wanted, all_heads: list[Head]) -> list[Head]:
    """Heads by names or numbers; they may not exist."""
    if isinstance(wanted, str):
        if wanted == "all":
            return all_heads
        return [head for part in wanted.replace(",", " ").split() for head in _parsed(part, all_heads)]
    parts: list[Any] = list(wanted)
    if len(parts) == 2 and all(isinstance(part, int | np.integer) for part in parts):
        return [(int(parts[0]), int(parts[1]))]
    return [head for part in parts for head in _named(part, all_heads)]


def _parsed(part: str, all_heads: list[Head]) -> list[Head]:
    match = NAME.fullmatch(part)
    if match is None:
        raise OptionError(f"heads {part!r}: write all, a layer such as L3, or a head such as L3·H10 (or L3H10)")
    layer = int(match.group(1))
    if match.group(2) is not None:
        return [(layer, int(match.group(2)))]
    return [head for head in all_heads if head[0] == layer] or [(layer, 0)]
