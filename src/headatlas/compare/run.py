"""One run of the stage: encode the other models, match heads, measure how far they moved, and write all tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import progress
from headatlas.atlas import engine, parts
from headatlas.atlas.blocks import read_blocks, row_ranges
from headatlas.atlas.groups import group_column, read_groups
from headatlas.compare import checks, sample, tables
from headatlas.compare.block import CompareBlock, Task, list_column, shifts_by_model
from headatlas.compare.compared import Compared
from headatlas.compare.matching import By, Matches, by_function, by_place
from headatlas.compare.measured import Design, Measured
from headatlas.compare.patterns import Counted, compare_shares, matched
from headatlas.compare.space import Given, Names, Space, open_space
from headatlas.errors import OptionError
from headatlas.stages.correlate.effect import Draws
from headatlas.wording.thresholds import CHANGED, GROUPS, SIGNIFICANT

DRAWS = 1000  # of the bootstrap of shares over groups of examples


@dataclass(frozen=True)
class Comparison:
    """What a result is made from."""

    result: engine.Result
    compared: Compared
    names: Names
    by: By
    options: dict[str, Any]

    def run(self, encoder: Given) -> None:
        """Do what is pending, and finish the result."""
        same_tokens = self._check()
        space = open_space(self.compared.first, self.names, encoder)
        tasks = self._tasks()
        ranges = [range(len(task.rows)) for task in tasks]
        work = CompareBlock(self.result.place, tasks, self.compared, space, self.by == "function")
        matches: tuple[Matches, ...] = ()
        if self.result.pending([engine.TABLES]):
            encoded = [each for each, task in zip(ranges, tasks, strict=True) if task.kind == "encode"]
            engine.run_blocks(self.result, work, encoded, "encoding maps")
            matches = self._matches(space, tasks)
        design = Design(self.compared, matches, same_tokens, self._group())
        parts.run_streamed(
            self.result, work.matched(matches, same_tokens), ranges, "comparing maps",
            lambda tables_of_parts: self._join(tables_of_parts, tasks, space, design), unit="examples",
            write_arrays=lambda: sample.write_maps(self.result, self.compared, self.sampled),
        )  # fmt: skip

    @cached_property
    def sampled(self) -> list[int]:
        """The numbers of the examples whose maps are kept."""
        return sample.drawn_examples(self.options["examples"], self.compared.examples, self.options["seed"])

    def _group(self) -> Any:
        atlas = self.compared.first.atlas
        return read_groups(atlas, group_column(atlas, None)).number

    def _check(self) -> tuple[bool, ...]:
        """Check examples and tokens; returns whether every step has the tokens of the first."""
        compared = self.compared
        checks.check_examples(compared)
        same = []
        for step in compared.steps:
            if self.by == "place":
                checks.check_tokens(compared.first, step)
            same.append(self.by == "place" or checks.has_same_tokens(compared.first, step))
        if compared.noise and not same[-1]:
            raise OptionError(
                f"--noise: {compared.first.name} and {compared.last.name} have different tokens, so that their maps "
                "cannot be compared. Omit it"
            )
        for seed in compared.noise:
            checks.check_tokens(compared.last, seed)
        return tuple(same)

    def _tasks(self) -> list[Task]:
        """Every block of every step to encode, if there is a space to do so, then every block to compare."""
        blocks = row_ranges(self.compared.first.atlas, "pooled")
        steps = () if self.names.features is None else self.compared.steps
        encode = [Task("encode", rows, step.number) for step in steps for rows in blocks]
        return encode + [Task("shift", rows) for rows in blocks]

    def _matches(self, space: Space | None, tasks: Sequence[Task]) -> tuple[Matches, ...]:
        """The matches of every step, by function from the parts of encoded maps."""
        compared = self.compared
        if self.by == "place":
            return tuple(by_place(len(compared.first.heads)) for _ in compared.steps)
        assert space is not None  # features are needed
        first_vectors, matches = space.mean_vectors(), []
        for step in compared.steps:
            numbers = [number for number, task in enumerate(tasks) if task.step == step.number]
            sums = sum(np.array(part["sums"][0].as_py()) for part in parts.read_parts(self.result, numbers))
            vectors = np.asarray(sums).reshape(len(step.heads), -1) / compared.examples
            matches.append(by_function(first_vectors, vectors, compared.first.heads, step.heads))
        return tuple(matches)

    def _join(
        self, tables_of_parts: Iterable[pa.Table], tasks: Sequence[Task], space: Space | None, design: Design
    ) -> parts.Joined:  # fmt: skip
        """All tables and facts."""
        remaining = iter(tables_of_parts)
        counted = None if space is None else _count(remaining, tasks, space, design)
        blocks = [task.rows for task in tasks if task.kind == "shift"]
        measured = _measure(remaining, blocks, design, self.sampled)
        new = self._patterns(counted, design)
        mains = None if counted is None else _mains(counted, design)
        head_table = tables.heads(measured, mains)
        new |= {
            "compare_models": tables.models(design),
            "compare_heads": head_table,
            "compare_stats": tables.statistics(measured),
            "compare_layers": tables.layers(measured, head_table.to_pylist()),
            "compare_examples": sample.example_table(self.compared.first.atlas, self.sampled, measured.example_shift),
        }
        if len(self.compared.steps) > 1:
            new["compare_series"] = tables.series(measured)
        if self.by == "function":
            new["compare_matches"] = tables.matches(design)
        return new, self._facts(design, head_table)

    def _patterns(self, counted: list[Counted] | None, design: Design) -> dict[str, pa.Table]:
        if counted is None:
            return {}
        before, *after = counted
        draws = Draws(design.groups, DRAWS if design.groups >= GROUPS else 0, self.options["seed"])
        shares = {number: compare_shares(before, each, draws) for number, each in enumerate(after, 1)}
        return {"compare_patterns": tables.patterns(shares)}

    def _facts(self, design: Design, head_table: pa.Table) -> dict[str, Any]:
        compared = self.compared
        return {
            "first": compared.first.label, "steps": [step.label for step in compared.steps],
            "noise": [seed.label for seed in compared.noise], "match": self.by,
            "same_tokens": list(design.same_tokens), "features": self.names.features,
            "clustering": self.names.clustering, "without_patterns": self.names.without,
            "examples": compared.examples, "groups": design.groups, "heads": design.slots,
            "changed": [_changed(head_table, step.number) for step in compared.steps],
            "thresholds": {"changed": CHANGED, "significant": SIGNIFICANT, "groups": GROUPS},
        }  # fmt: skip


def _changed(head_table: pa.Table, step: int) -> int | None:
    """Number of heads that changed; None if that is not known."""
    flags = [row["changed"] for row in head_table.to_pylist() if row["step"] == step and row["changed"] is not None]
    return sum(flags) if flags else None


def _count(
    tables_of_parts: Iterator[pa.Table], tasks: Sequence[Task], space: Space, design: Design
) -> list[Counted] | None:
    """The clusters of the first model and of every step; None without a clustering. Takes the parts of encoded maps."""
    encoded = [task for task in tasks if task.kind == "encode"]
    if space.clusters is None:
        for _ in encoded:
            next(tables_of_parts)
        return None
    first, clusters, group = design.compared.first, space.clusters.count, design.group
    models = (first, *design.compared.steps)
    counted = [Counted(clusters, len(each.heads), design.groups) for each in models]
    layer, head = first.heads.T
    for rows, labels in read_blocks(first.atlas, "labels", space.names.clustering):
        counted[0].add(labels[:, layer, head], group[rows.start : rows.stop])
    for task in encoded:
        part = next(tables_of_parts)
        labels, outside = (list_column(part, name) for name in ("labels", "outside"))
        counted[task.step].add(labels, group[task.rows.start : task.rows.stop], outside)
    return counted


def _mains(counted: Sequence[Counted], design: Design) -> list[tuple[Any, Any]]:
    """The main clusters of every head before and after, for each step."""
    before, *after = (each.main() for each in counted)
    return [(before, matched(main, matches)) for main, matches in zip(after, design.matches, strict=True)]


def _measure(
    tables_of_parts: Iterator[pa.Table], blocks: Sequence[range], design: Design, sampled: Sequence[int]
) -> Measured:
    """Everything that is measured. Takes the parts of shifts."""
    measured = Measured(design, sampled)
    with progress.bar("comparing statistics", design.compared.examples, "examples") as advance:
        for block in blocks:
            measured.add(block, shifts_by_model(next(tables_of_parts)))
            advance(len(block))
    return measured
