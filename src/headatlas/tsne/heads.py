"""Head t-SNE: a text as each head sees it, its attention taken as neighbour probabilities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel, progress
from headatlas.errors import OptionError
from headatlas.models.facts import Layer, Model
from headatlas.tsne import kernel
from headatlas.tsne.affinity import Affinity, Empty, affinity, to_words
from headatlas.tsne.align import align
from headatlas.tsne.reading import Reading, Source, Text, read

Head = tuple[int, int]
Wanted = str | Head | Iterable[Head]
Unit = Literal["token", "word"]
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
    seed: int
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
    work = _Work(reading, restarts, seed, special, unit, iterations)
    done = {}
    assert reading.maps  # one forward pass, before threads share it
    with (
        progress.bar("laying out", len(chosen), "heads") as advance,
        closing(parallel.run(work, chosen)) as results,
    ):
        for one, found in results:
            done[one] = found
            advance(1)
    return _gathered(reading, {one: done[one] for one in chosen}, seed, special, unit)


Laid = tuple[NDArray[np.float32], NDArray[np.float64], float, tuple[str, ...]]


@dataclass(frozen=True)
class _Work:
    reading: Reading
    restarts: int
    seed: int
    special: bool
    unit: Unit
    iterations: int

    def __call__(self, one: Head) -> tuple[Head, Laid]:
        """Lay out one head; a thread each."""
        parallel.check()
        layer = self.reading.model.layers[one[0]]
        try:
            found = head_affinity(self.reading, layer, one[1], self.special, self.unit)
        except Empty as reason:
            count = len(head_points(self.reading, layer, self.special, self.unit).text)
            nothing = np.full(self.restarts, np.nan)
            return one, (np.full((count, 2), np.nan, np.float32), nothing, 0.0, (str(reason),))
        places, kl = kernel.layouts(found.p, restarts=self.restarts, seed=(self.seed, *one), iterations=self.iterations)
        return one, (places[int(kl.argmin())], kl, found.mass, found.notes)


def head_affinity(reading: Reading, layer: Layer, head: int, special: bool = True, unit: Unit = "token") -> Affinity:
    """P of one head on a text."""
    own = reading.maps[layer.index][head]
    queries, keys = reading.side(layer.kind, True), reading.side(layer.kind, False)
    cross = layer.kind == "cross"
    keep_queries, keep_keys = ~queries.special | special, ~keys.special | special
    if unit == "word":
        own, rows, columns = to_words(own, queries.word, keys.word)
        keep_queries, keep_keys = keep_queries[rows], keep_keys[columns]
    kept = np.flatnonzero(keep_queries), np.flatnonzero(keep_keys)
    names = head_points(reading, layer, special, unit).text
    return affinity(own, queries=kept[0], keys=kept[1], cross=cross, names=names)


def head_points(reading: Reading, layer: Layer, special: bool, unit: Unit) -> Points:
    """What the points of a layer's layouts are: tokens or words; of cross attention queries, then keys."""
    sides = [True, False] if layer.kind == "cross" else [True]
    text: list[str] = []
    token, query = [], []
    for queries in sides:
        side = reading.side(layer.kind, queries)
        first = np.arange(len(side.text))
        if unit == "word":
            first = to_words(np.zeros((len(side.text), 1)), side.word, np.zeros(1, np.int32))[1]
        last = [*first[1:], len(side.text)]
        for start, stop in zip(first, last, strict=True):
            if special or not side.special[start]:
                text.append("".join(piece.removeprefix("##") for piece in side.text[start:stop]).strip())
                token.append(int(start))
                query.append(queries)
    return Points(text, np.array(token, np.int64), np.array(query, bool))


def _gathered(reading: Reading, done: dict[Head, Laid], seed: int, special: bool, unit: Unit) -> Layouts:
    layers = [reading.model.layers[number] for number in sorted({layer for layer, _ in done})]
    points = {layer.index: head_points(reading, layer, special, unit) for layer in layers}
    turned: dict[Head, NDArray[np.float32]] = {}
    for kind in {layer.kind for layer in layers}:  # layouts of the same points can be compared
        own = {one: laid[0] for one, laid in done.items() if reading.model.layers[one[0]].kind == kind}
        turned |= align(own)
    return Layouts(
        reading.model.name, seed, points, {one: turned[one] for one in done},
        {one: laid[1] for one, laid in done.items()}, {one: laid[2] for one, laid in done.items()},
        {one: laid[3] for one, laid in done.items()}, tuple(_remarks(layers, points)),
    )  # fmt: skip


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
