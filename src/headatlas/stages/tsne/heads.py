"""Head t-SNE: a text as each head sees it, its attention taken as neighbor probabilities."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.errors import OptionError
from headatlas.models.model import Layer
from headatlas.models.pictures import facts_table
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.affinity import Affinity, Empty, Unit, affinity, first_tokens, to_points
from headatlas.stages.tsne.align import align
from headatlas.stages.tsne.layout_tables import Head, Layout, Points
from headatlas.stages.tsne.reading import Reading


@dataclass(frozen=True, repr=False)
class Layouts:
    """The layouts of one text by head: of all restarts the one with the least KL."""

    model: str
    recipe: dict[str, Any]  # everything that determines the layouts
    points: dict[int, Points]  # by layer
    layouts: dict[Head, NDArray[np.float32]]  # (point, axis); NaN where there is nothing to lay out
    kl: dict[Head, NDArray[np.float64]]  # (restart,)
    mass: dict[Head, float]  # share of attention between different points
    notes: dict[Head, tuple[str, ...]]
    remarks: tuple[str, ...] = field(default=())  # on all of them

    def layout(self, layer: int, head: int) -> NDArray[np.float32]:
        """Positions (point, 2) of the tokens as one head sees them."""
        if (layer, head) not in self.layouts:
            raise OptionError(f"L{layer}·H{head} was not laid out; {len(self.layouts)} heads were")
        return self.layouts[layer, head]

    def best(self, layer: int, head: int) -> float:
        """The least KL of all restarts."""
        return float(self.kl[layer, head].min())

    def rows(self) -> list[dict[str, Any]]:
        """One row per head: KL of its layout, median and deviation over restarts, and notes."""
        return [
            {
                "layer": layer, "head": head, "kl": float(kl.min()), "kl_median": float(np.median(kl)),
                "kl_deviation": float(kl.std()), "mass": self.mass[layer, head],
                "notes": "; ".join(self.notes[layer, head]),
            }
            for (layer, head), kl in self.kl.items()
        ]  # fmt: skip

    def __repr__(self) -> str:
        sizes = sorted({len(layout) for layout in self.layouts.values()})
        points = "–".join(map(str, dict.fromkeys(sizes[:1] + sizes[-1:])))
        return f"<Layouts of {self.model}: {len(self.layouts)} heads × {points} points, {self._best()}>"

    def _best(self) -> str:
        """The layout that fits best, and how many each was chosen from."""
        known = {head: float(kl.min()) for head, kl in self.kl.items() if np.isfinite(kl).any()}
        restarts = max((len(kl) for kl in self.kl.values()), default=0)
        if not known:
            return f"{restarts} restarts"
        (layer, head), least = min(known.items(), key=lambda item: item[1])
        return f"{restarts} restarts; least KL {least:.2f}, L{layer}·H{head}"

    def _repr_html_(self) -> str:
        heads = ", ".join(f"L{layer}·H{head}" for layer, head in list(self.layouts)[:12])
        more = f" and {len(self.layouts) - 12} more" if len(self.layouts) > 12 else ""
        points = self.points[min(self.points)].text if self.points else []
        text = textwrap.shorten(" ".join(points), 200, placeholder=" …")
        return facts_table({"model": self.model, "heads": heads + more, "fit": self._best(), "points": text})


@dataclass(frozen=True)
class How:
    """How layouts are made; see `tsne.heads`."""

    restarts: int = 16
    seed: int = 0
    special: bool = True
    unit: Unit = "token"
    iterations: int = kernel.ITERATIONS

    def check(self) -> None:
        """Raise OptionError for invalid values."""
        if self.restarts < 1 or self.iterations < 4:
            raise OptionError(
                f"restarts {self.restarts}, iterations {self.iterations}: "
                "at least 1 restart and 4 iterations are needed"
            )
        if self.unit not in ("token", "word"):
            raise OptionError(f"unit {self.unit!r}: choose token or word")

    def recipe(self) -> dict[str, Any]:
        """Everything that determines layouts, besides the model and the text."""
        return asdict(self) | {"kernel": kernel.RECIPE}


Run = Callable[[Callable[[Head], tuple[Head, Layout]], list[Head]], Iterable[tuple[Head, Layout]]]


def lay_out(reading: Reading, heads: list[Head], how: How, run: Run) -> Layouts:
    """Lay out these heads of a text that was read; `run` calls a function for each head, in any order."""
    assert reading.maps  # one forward pass, before threads share it
    layouts = dict(run(partial(lay_out_head, reading, how), heads))
    points = points_by_layer(reading, heads, how)
    recipe = reading.recipe() | how.recipe()
    aligned = align_heads({head: layouts[head] for head in heads}, reading.model.layers)
    return assemble_layouts(reading.model.name, recipe, reading.model.layers, points, aligned)


def lay_out_in_threads(reading: Reading, heads: list[Head], how: How) -> Layouts:
    """Lay out these heads of a text that was read, with a progress bar."""
    prepare(reading)
    with progress.bar("laying out", len(heads), "heads") as advance:
        return lay_out(reading, heads, how, partial(_in_threads, advance))


@single_thread()
def prepare(reading: Reading) -> None:
    """Compute all maps, on one core: results must not depend on the number of cores."""
    assert reading.maps


def _in_threads(
    advance: Callable[[int], None], work: Callable[[Head], tuple[Head, Layout]], heads: list[Head]
) -> Iterator[tuple[Head, Layout]]:
    with closing(parallel.run(work, heads)) as results:
        for result in results:
            advance(1)
            yield result


def lay_out_head(reading: Reading, how: How, head: Head) -> tuple[Head, Layout]:
    """The layout of one head, before it is aligned with those of other heads."""
    layer = reading.model.layers[head[0]]
    try:
        p = head_affinity(reading, layer, head[1], how.special, how.unit)
    except Empty as reason:
        count = len(head_points(reading, layer, how.special, how.unit).text)
        no_positions = np.full((count, 2), np.nan, np.float32)
        return head, Layout(no_positions, np.full(how.restarts, np.nan), 0.0, (str(reason),))
    positions, kl = kernel.layouts(p.p, restarts=how.restarts, seed=(how.seed, *head), iterations=how.iterations)
    return head, Layout(positions[int(kl.argmin())], kl, p.mass, p.notes)


def align_heads(layouts: Mapping[Head, Layout], layers: tuple[Layer, ...]) -> dict[Head, Layout]:
    """Layouts rotated to a common orientation within each kind of layer, so that heads can be compared."""
    rotated: dict[Head, NDArray[np.float32]] = {}
    for kind in {layers[index].kind for index, _ in layouts}:
        rotated |= align({head: layout.positions for head, layout in layouts.items() if layers[head[0]].kind == kind})
    return {head: replace(layout, positions=rotated[head]) for head, layout in layouts.items()}


def assemble_layouts(
    model: str,
    recipe: dict[str, Any],
    layers: tuple[Layer, ...],
    points: dict[int, Points],
    layouts: Mapping[Head, Layout],
) -> Layouts:
    """Computed or stored layouts as one object."""
    return Layouts(
        model, recipe, points,
        {head: layout.positions for head, layout in layouts.items()},
        {head: layout.kl for head, layout in layouts.items()},
        {head: layout.mass for head, layout in layouts.items()},
        {head: layout.notes for head, layout in layouts.items()},
        tuple(_remarks([layers[index] for index in points], points)),
    )  # fmt: skip


def head_affinity(reading: Reading, layer: Layer, head: int, special: bool = True, unit: Unit = "token") -> Affinity:
    """P of one head on a text."""
    queries, keys = reading.side(layer.kind, True), reading.side(layer.kind, False)
    points = to_points(reading.maps[layer.index][head], queries, keys, special=special, unit=unit)
    names = head_points(reading, layer, special, unit).text
    cross = layer.kind == "cross"
    return affinity(points.attention, queries=points.queries, keys=points.keys, cross=cross, names=names)


def points_by_layer(reading: Reading, heads: list[Head], how: How) -> dict[int, Points]:
    """The points of each layer that has one of these heads."""
    layers = [reading.model.layers[index] for index in sorted({index for index, _ in heads})]
    return {layer.index: head_points(reading, layer, how.special, how.unit) for layer in layers}


def head_points(reading: Reading, layer: Layer, special: bool, unit: Unit) -> Points:
    """What the points of a layer's layouts are: tokens or words; of cross attention queries, then keys."""
    sides = [True, False] if layer.kind == "cross" else [True]
    text: list[str] = []
    token, query = [], []
    for queries in sides:
        side = reading.side(layer.kind, queries)
        first = first_tokens(side, unit)
        last = [*first[1:], len(side.text)]
        for start, stop in zip(first, last, strict=True):
            if special or not side.special[start]:
                text.append("".join(piece.removeprefix("##") for piece in side.text[start:stop]).strip())
                token.append(int(start))
                query.append(queries)
    return Points(text, np.array(token, np.int64), np.array(query, bool))


def _remarks(layers: list[Layer], points: dict[int, Points]) -> list[str]:
    remarks = []
    if any(layer.causal for layer in layers):
        remarks.append(
            "causal attention: each pair has one direction, from the later token to the earlier; the first tokens are "
            "seen by all others and often draw the whole text together"
        )
    if any(layer.kind == "cross" for layer in layers):
        remarks.append(
            "cross attention: queries and keys are both points, and only a query and a key attract one another"
        )
    if any(len(layer_points.text) < 4 for layer_points in points.values()):
        remarks.append("fewer than 4 points: any layout of them looks much the same")
    return remarks
