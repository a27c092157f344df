"""Head t-SNE: a text as each head sees it, its attention taken as neighbour probabilities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.errors import OptionError
from headatlas.models.model import Layer, Model
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.affinity import Affinity, Empty, Unit, affinity, first_tokens, to_points
from headatlas.stages.tsne.align import align
from headatlas.stages.tsne.reading import Reading, Source, Text, read

Head = tuple[int, int]
Wanted = str | Head | Iterable[Head]
NAME = re.compile(r"L(\d+)[·.:]?(?:H(\d+))?", re.IGNORECASE)


@dataclass(frozen=True)
class Points:
    """The points of a layout: their text, the token each begins at, and whether it is a query (cross: or a key)."""

    text: list[str]
    token: NDArray[np.int64]
    query: NDArray[np.bool_]


@dataclass(frozen=True)
class Layouts:
    """The layouts of one text by head; `best` is the restart with the least KL, and the one that is kept."""

    model: str
    recipe: dict[str, Any]  # all that the layouts follow from
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
        """One row a head: KL of the layout that is kept, median and deviation over restarts, and remarks."""
        return [
            {
                "layer": layer, "head": head, "kl": float(kl.min()), "kl_median": float(np.median(kl)),
                "kl_deviation": float(kl.std()), "mass": self.mass[layer, head],
                "notes": "; ".join(self.notes[layer, head]),
            }
            for (layer, head), kl in self.kl.items()
        ]  # fmt: skip


def heads(
    source: Source,
    text: Text,
    *,
    heads: Wanted = "all",
    restarts: int = 16,
    seed: int = 0,
    special: bool = True,
    unit: Unit = "token",
    iterations: int = kernel.ITERATIONS,
) -> Layouts:
    """Lay a text out as each head sees it: `source` is a model or an atlas, or the name of one.

    `heads` is "all", a layer ("L3"), a head ("L3·H10" or (3, 10)), or several of these. Of `restarts` layouts the one
    with the least KL is kept. `special=False` drops special tokens, `unit="word"` takes words in place of pieces.
    Layouts are turned so that heads can be compared.

    >>> from headatlas import tsne
    >>> found = tsne.heads("packaged", "The cat sat on the mat.", heads="L0·H2", restarts=4)
    >>> found.layout(0, 2).shape, found.kl[0, 2].shape
    ((9, 2), (4,))
    """
    if restarts < 1 or iterations < 4:
        raise OptionError(
            f"restarts {restarts}, iterations {iterations}: at least 1 restart and 4 iterations are needed"
        )
    if unit not in ("token", "word"):
        raise OptionError(f"unit {unit!r}: choose token or word")
    reading = read(source, text)
    chosen = choose(reading.model, heads)
    how = How(restarts, seed, special, unit, iterations)
    with progress.bar("laying out", len(chosen), "heads") as advance:
        return lay_out(reading, chosen, how, partial(_in_threads, advance))


@dataclass(frozen=True)
class How:
    """How layouts are made; see `heads`."""

    restarts: int = 16
    seed: int = 0
    special: bool = True
    unit: Unit = "token"
    iterations: int = kernel.ITERATIONS


@dataclass(frozen=True)
class Laid:
    """The layout of one head that is kept, KL of every restart, and what is said of its P."""

    layout: NDArray[np.float32]
    kl: NDArray[np.float64]
    mass: float
    notes: tuple[str, ...]


Run = Callable[[Callable[[Head], tuple[Head, Laid]], list[Head]], Iterable[tuple[Head, Laid]]]


def lay_out(reading: Reading, chosen: list[Head], how: How, run: Run) -> Layouts:
    """Lay out these heads of a text that was read; `run` does pieces of work, in any order."""
    assert reading.maps  # one forward pass, before threads share it
    done = dict(run(partial(_lay_out, reading, how), chosen))
    layers = [reading.model.layers[number] for number in sorted({layer for layer, _ in chosen})]
    points = {layer.index: head_points(reading, layer, how.special, how.unit) for layer in layers}
    turned: dict[Head, NDArray[np.float32]] = {}
    for kind in {layer.kind for layer in layers}:  # layouts of the same points can be compared
        turned |= align({one: done[one].layout for one in chosen if reading.model.layers[one[0]].kind == kind})
    recipe = reading.recipe() | asdict(how) | {"kernel": kernel.RECIPE}
    return Layouts(
        reading.model.name, recipe, points, {one: turned[one] for one in chosen},
        {one: done[one].kl for one in chosen}, {one: done[one].mass for one in chosen},
        {one: done[one].notes for one in chosen}, tuple(_remarks(layers, points)),
    )  # fmt: skip


def _in_threads(
    advance: Callable[[int], None], work: Callable[[Head], tuple[Head, Laid]], chosen: list[Head]
) -> Iterator[tuple[Head, Laid]]:
    with closing(parallel.run(work, chosen)) as results:
        for found in results:
            advance(1)
            yield found


def _lay_out(reading: Reading, how: How, one: Head) -> tuple[Head, Laid]:
    layer = reading.model.layers[one[0]]
    try:
        found = head_affinity(reading, layer, one[1], how.special, how.unit)
    except Empty as reason:
        count = len(head_points(reading, layer, how.special, how.unit).text)
        nowhere = np.full((count, 2), np.nan, np.float32)
        return one, Laid(nowhere, np.full(how.restarts, np.nan), 0.0, (str(reason),))
    places, kl = kernel.layouts(found.p, restarts=how.restarts, seed=(how.seed, *one), iterations=how.iterations)
    return one, Laid(places[int(kl.argmin())], kl, found.mass, found.notes)


def head_affinity(reading: Reading, layer: Layer, head: int, special: bool = True, unit: Unit = "token") -> Affinity:
    """P of one head on a text."""
    queries, keys = reading.side(layer.kind, True), reading.side(layer.kind, False)
    found = to_points(reading.maps[layer.index][head], queries, keys, special=special, unit=unit)
    names = head_points(reading, layer, special, unit).text
    return affinity(
        found.attention, queries=found.queries, keys=found.keys, cross=layer.kind == "cross", names=names
    )  # fmt: skip


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
    found = []
    if any(layer.causal for layer in layers):
        found.append(
            "causal attention: each pair has one direction, from the later token to the earlier; the first tokens are "
            "seen by all others and often draw the whole text together"
        )
    if any(layer.kind == "cross" for layer in layers):
        found.append(
            "cross attention: queries and keys are both points, and only a query and a key attract one another"
        )
    if any(len(one.text) < 4 for one in points.values()):
        found.append("fewer than 4 points: any layout of them looks much the same")
    return found


def choose(model: Model, wanted: Wanted) -> list[Head]:
    """The heads that are asked for, in order."""
    every = [(layer.index, head) for layer in model.layers for head in range(layer.heads)]
    if isinstance(wanted, str):
        if wanted == "all":
            return every
        found = [one for part in wanted.replace(",", " ").split() for one in _named(part, every)]
    else:
        parts: list[Any] = list(wanted)
        one = len(parts) == 2 and all(isinstance(part, int | np.integer) for part in parts)
        found = [(int(parts[0]), int(parts[1]))] if one else [head for part in parts for head in choose(model, part)]
    there = set(every)
    wrong = next((one for one in found if one not in there), None)
    if wrong is not None or not found:
        what = f"L{wrong[0]}·H{wrong[1]}" if wrong else repr(wanted)
        heads = ", ".join(sorted({str(layer.heads) for layer in model.layers}))
        raise OptionError(f"{model.name} has no {what}: it has {len(model.layers)} layers of {heads} heads, from 0 on")
    return sorted(set(found))


def _named(part: str, every: list[Head]) -> list[Head]:
    match = NAME.fullmatch(part)
    if match is None:
        raise OptionError(f"heads {part!r}: write all, a layer such as L3, or a head such as L3·H10 (or L3H10)")
    layer = int(match.group(1))
    if match.group(2) is not None:
        return [(layer, int(match.group(2)))]
    return [one for one in every if one[0] == layer] or [(layer, 0)]
