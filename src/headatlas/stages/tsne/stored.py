"""Layouts of the examples of an atlas: computed head by head, stored as tables, and read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from headatlas import parallel
from headatlas.atlas import engine, parts
from headatlas.atlas.model import load_model
from headatlas.atlas.store import Atlas
from headatlas.atlas.writer import Place, Writer
from headatlas.stages.tsne import layout_tables
from headatlas.stages.tsne.choice import Wanted, choose_heads, layers_of, spell
from headatlas.stages.tsne.heads import (
    How,
    Layouts,
    align_heads,
    assemble_layouts,
    lay_out_head,
    points_by_layer,
    prepare,
)
from headatlas.stages.tsne.hidden import (
    States,
    VectorOptions,
    align_layers,
    assemble_states,
    check_layers,
    lay_out_layer,
    states_of,
)
from headatlas.stages.tsne.layout_tables import STANDARD, Head, Layout, Points
from headatlas.stages.tsne.reading import check_example, read_example


@dataclass(frozen=True)
class Task:
    """Layouts to be stored: how each is computed, how all are aligned, and the facts recorded with them."""

    heads: list[Head]
    points: dict[int, Points]
    lay_out: Callable[[Head], Layout]
    align: Callable[[Mapping[Head, Layout]], dict[Head, Layout]]
    facts: dict[str, Any]
    unit: str

    def join(self, table: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        """The tables from the parts of all heads."""
        layouts = self.align(layout_tables.from_parts(table))
        return layout_tables.tables(self.points, layouts), self.facts | _summary(layouts)


@dataclass(frozen=True)
class LayOutBlock:
    """The function that is run over the numbers of all blocks: a block is one head, or one layer of hidden states."""

    place: Place
    task: Task

    def __call__(self, number: int) -> int:
        """Lay out one head, and write its part."""
        parallel.check()
        head = self.task.heads[number]
        parts.write_part(Writer(self.place), number, layout_tables.part({head: self.task.lay_out(head)}))
        return 1


def _stored(
    atlas: Atlas, name: str, options: dict[str, Any], prepare_task: Callable[[], Task]
) -> tuple[dict[str, Any], dict[int, Points], dict[Head, Layout]]:
    """Recipe, points and layouts of a result; computed first if it is not finished."""
    with engine.result(atlas, "tsne", name, options) as result:
        if not result.finished:
            task = prepare_task()
            blocks = [range(number, number + 1) for number in range(len(task.heads))]
            work = LayOutBlock(result.place, task)
            parts.run(result, work, blocks, "laying out", task.join, unit=task.unit)
    entry = atlas.results("tsne")[name]
    recipe = {"version": entry["recipe"]["version"], "model": atlas.header["model"]["hash"]}
    return recipe | {"input": entry["facts"]["input"]}, *layout_tables.read(atlas, name)


def stored_heads(atlas: Atlas, example: int, wanted: Wanted, how: How, name: str) -> Layouts:
    """Layouts of an example as heads see it: read from the atlas, or computed and stored in it."""
    check_example(atlas, example)
    model, layers = atlas.header["model"]["name"], layers_of(atlas)
    chosen = choose_heads(model, layers, wanted)
    options = {"kind": "heads", "example": example, "heads": spell(chosen, layers)} | how.recipe()

    def prepare_task() -> Task:
        reading = read_example(load_model(atlas), atlas, example)
        prepare(reading)
        facts = {"kind": "heads", "example": example, "input": reading.digest}
        return Task(
            chosen, points_by_layer(reading, chosen, how), lambda head: lay_out_head(reading, how, head)[1],
            lambda layouts: align_heads(layouts, layers), facts, "heads",
        )  # fmt: skip

    recipe, points, layouts = _stored(atlas, name, options, prepare_task)
    return assemble_layouts(model, recipe | how.recipe(), layers, points, layouts)


def stored_hidden(
    atlas: Atlas, example: int, wanted: Sequence[int] | None, special: bool, how: VectorOptions, name: str
) -> States:
    """Layouts of the hidden states of an example: read from the atlas, or computed and stored in it."""
    check_example(atlas, example)
    known = [layer.index for layer in layers_of(atlas) if layer.kind != "cross"]
    check_layers(wanted, known)
    layers = None if wanted is None or set(wanted) == set(known) else sorted(set(wanted))
    options = {"kind": "hidden", "example": example, "layers": layers, "special": special} | asdict(how)

    def prepare_task() -> Task:
        reading = read_example(load_model(atlas), atlas, example)
        vectors, points = states_of(reading, layers, special)
        facts = {"kind": "hidden", "example": example, "input": reading.digest}
        return Task(
            [(layer, STANDARD) for layer in vectors], points,
            lambda head: lay_out_layer(vectors[head[0]], head[0], how), align_layers, facts, "layers",
        )  # fmt: skip

    recipe, points, layouts = _stored(atlas, name, options, prepare_task)
    return assemble_states(atlas.header["model"]["name"], recipe | {"special": special} | asdict(how), points, layouts)


def _summary(layouts: Mapping[Head, Layout]) -> dict[str, Any]:
    """How many layouts there are, and the one with the least KL; None if none has any."""
    kl = {head: float(layout.kl.min()) for head, layout in layouts.items()}
    finite = [head for head, value in kl.items() if value == value]  # NaN where there is nothing to lay out
    best = min(finite, key=kl.__getitem__, default=None)
    return {"layouts": len(layouts), "best": list(best) if best else None, "kl": kl[best] if best else None}
