"""One task: the vectors and clusters of some maps of another model, or how far the maps of every head moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas import parts
from headatlas.atlas.schema import NOISE
from headatlas.atlas.writer import Place, Writer
from headatlas.compare.compared import Collection, Compared
from headatlas.compare.divergence import shifts
from headatlas.compare.matching import Matches
from headatlas.compare.space import Space
from headatlas.numeric.threads import single_thread

ENCODED = pa.schema(
    [("example", pa.int64()), ("labels", pa.list_(pa.int32())), ("outside", pa.list_(pa.bool_())),
     ("sums", pa.list_(pa.float64()))]
)  # fmt: skip
SHIFTED = pa.schema([("model", pa.int32()), ("example", pa.int64()), ("shift", pa.list_(pa.float32()))])


@dataclass(frozen=True)
class Task:
    """Some examples: of one step to encode, or of all models to compare."""

    kind: Literal["encode", "shift"]
    rows: range
    step: int = 0  # number of the model to encode, from 1


@dataclass(frozen=True)
class CompareBlock:
    """The function that is run on the number of each task; returns the number of examples done."""

    place: Place
    tasks: list[Task]
    compared: Compared
    space: Space | None
    vectors: bool  # whether sums of vectors are needed
    matches: tuple[Matches, ...] = ()  # of every step
    same_tokens: tuple[bool, ...] = ()  # whether the tokens of every step are those of the first

    def matched(self, matches: tuple[Matches, ...], same_tokens: tuple[bool, ...]) -> CompareBlock:
        """The same with what is needed to compare maps."""
        return replace(self, matches=matches, same_tokens=same_tokens)

    @single_thread("torch")
    def __call__(self, number: int) -> int:
        """Make one part."""
        task = self.tasks[number]
        table = self._encoded(task) if task.kind == "encode" else self._shifted(task.rows)
        parts.write_part(Writer(self.place), number, table)
        return len(task.rows)

    def _encoded(self, task: Task) -> pa.Table:
        """For each example the cluster of every head; and the sums of the vectors of every head, in the first row."""
        assert self.space is not None
        step = self.compared.steps[task.step - 1]
        layer, head = step.heads.T
        vectors = self.space.encode(step, task.rows)
        count = len(task.rows)
        columns: dict[str, list[object]] = {"example": [*task.rows], "labels": [None] * count, "sums": [None] * count}
        columns["outside"] = [None] * count
        assigned = self.space.assign(vectors)
        if assigned is not None:
            labels, far = assigned.labels, (assigned.patterns == NOISE) & (assigned.labels >= 0)
            columns |= {"labels": [*labels[:, layer, head]], "outside": [*far[:, layer, head]]}
        if self.vectors:
            columns["sums"][0] = vectors[:, layer, head].astype(np.float64).sum(0).ravel()
        return pa.table(columns, schema=ENCODED)

    def _shifted(self, rows: range) -> pa.Table:
        """For each model and example the shift of every head of the first model, or of the last for other seeds."""
        compared, tables = self.compared, [SHIFTED.empty_table()]
        maps = first = compared.first.read_heads("pooled", rows)
        for step, matches, same in zip(compared.steps, self.matches, self.same_tokens, strict=True):
            if same:
                maps = step.read_heads("pooled", rows)
                tables.append(_part(step, rows, shifts(first, matches.select(maps))))
        for seed in compared.noise:  # whose tokens are those of the last step
            tables.append(_part(seed, rows, shifts(maps, seed.read_heads("pooled", rows))))
        return pa.concat_tables(tables)


def _part(collection: Collection, rows: range, values: NDArray[Any]) -> pa.Table:
    model = np.full(len(rows), collection.number, np.int32)
    return pa.table({"model": model, "example": [*rows], "shift": [*values.astype(np.float32)]}, schema=SHIFTED)


def shifts_by_model(part: pa.Table) -> dict[int, NDArray[np.float64]]:
    """The shifts (example, slot) of each model in a part; models can have different numbers of heads."""
    model = part["model"].to_numpy()
    return {
        int(number): list_column(part.filter(pa.array(model == number)), "shift").astype(np.float64)
        for number in np.unique(model)
    }


def list_column(part: pa.Table, name: str) -> NDArray[Any]:
    """A column of lists of one length as an array (row, item).

    >>> list_column(pa.table({"x": [[1, 2], [3, 4]]}), "x").tolist()
    [[1, 2], [3, 4]]
    """
    column = part[name].combine_chunks()
    items = column.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(items).reshape(len(column), -1)
