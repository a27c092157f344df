"""From an analysis to its finished tables in the atlas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from headatlas import options
from headatlas.atlas import engine, parts
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.atlas.writer import Place, Writer
from headatlas.errors import DataError
from headatlas.models.load import ModelLike
from headatlas.numeric.threads import single_thread
from headatlas.stages.probe.analysis import Analysis, Results
from headatlas.stages.probe.source import Source


def run(atlas: AtlasLike, analysis: Analysis, model: ModelLike | None = None) -> pa.Table:
    """Run an analysis, or continue where an earlier run stopped, and return its main table."""
    options.check(analysis)
    atlas = Atlas.open(atlas)
    atlas.needed("collect")
    if reason := analysis.missing(atlas):
        raise DataError(f"{atlas.files.url}: {reason}")
    inputs = analysis.inputs(atlas)
    with engine.result(atlas, "probe", analysis.name, asdict(analysis), inputs=inputs) as result:
        if not result.finished:
            _run(atlas, result, analysis, model)
    return atlas.table(analysis.table)


def _run(atlas: Atlas, result: engine.Result, analysis: Analysis, model: ModelLike | None) -> None:
    source = Source(atlas, analysis.numbers(atlas), model)
    size = analysis.block or len(source.numbers)
    tasks = [source.numbers[start : start + size] for start in range(0, len(source.numbers), size)]

    def join(parts_read: Iterable[pa.Table]) -> Results:
        tables, facts = analysis.join_parts(source, parts_read)
        return tables, {"analysis": analysis.name, "examples": len(source.numbers)} | dict(facts)

    work = ProbeBlock(result.place, analysis, source, tasks)
    ranges = [range(len(task)) for task in tasks]
    parts.run_streamed(result, work, ranges, f"probe {analysis.name}", join, unit="examples")


@dataclass(frozen=True)
class ProbeBlock:
    """The function that is run on the number of each block; returns the number of examples done."""

    place: Place
    analysis: Analysis
    source: Source
    tasks: list[list[int]]

    @single_thread("torch")
    def __call__(self, number: int) -> int:
        """Write the part of one block."""
        numbers = self.tasks[number]
        table: Any = self.analysis.part(self.source, numbers)
        parts.write_part(Writer(self.place), number, table)
        return len(numbers)
