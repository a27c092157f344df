"""What finished analyses say: sentences of all of them, and the rows that sentences are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from headatlas.atlas.store import Atlas
from headatlas.stages.probe.analysis import Analysis, MapAnalysis, Measure
from headatlas.wording.numbers import amount, percent
from headatlas.wording.probe import Form, HeadMean, range_line, standing_line

FIRST = 3  # sentences about a head that stand first; measures that are mentioned, unless the analysis names some


@dataclass(frozen=True)
class Answer:
    """An analysis, and what it says; `examples` is None if it was not run."""

    analysis: Analysis
    examples: int | None
    missing: str | None  # what the data lack for it
    sentences: list[str]
    command: str  # that runs it


def answers(atlas: Atlas, analyses: Iterable[type[Analysis]], *place: int) -> list[Answer]:
    """What each analysis says about the model, or about the head with this layer and number."""
    done = atlas.results("probe")
    listed = []
    for kind in analyses:
        analysis, sentences = kind(), []
        finished = analysis.name in done
        if finished:
            sentences = analysis.of_head(atlas, *place) if place else analysis.findings(atlas)
        listed.append(Answer(
            analysis, atlas.facts("probe", analysis.name)["examples"] if finished else None,
            None if finished else analysis.missing(atlas), [sentence for sentence in sentences if sentence],
            f"headatlas probe {analysis.name} {atlas.files.url}",
        ))  # fmt: skip
    return listed


@dataclass(frozen=True)
class Leading:
    """A sentence about a head that stands first, and the analysis that says it."""

    analysis: str
    sentence: str


def leading(atlas: Atlas, analyses: Iterable[type[Analysis]], layer: int, head: int) -> list[Leading]:
    """The few sentences about a head with the largest effects, of all finished analyses, the largest first."""
    done = atlas.results("probe")
    sentences = [
        (telling.effect, Leading(kind.name, telling.sentence))
        for kind in analyses
        if kind.name in done
        for telling in kind().telling(atlas, layer, head)
    ]
    return [sentence for _, sentence in sorted(sentences, key=lambda each: -each[0])[:FIRST]]


def rows(atlas: Atlas, table: str, **equal: Any) -> list[dict[str, Any]]:
    """The rows of a table in which some columns have given values; none if there is no such table."""
    if not atlas.has_table(table):
        return []
    filters = [(name, "==", value) for name, value in equal.items()] or None
    matching: list[dict[str, Any]] = atlas.table(table, filters=filters).to_pylist()
    return matching


def means(atlas: Atlas, table: str) -> dict[str, list[HeadMean]]:
    """The rows of a table of measures, by measure; unknown means are left out."""
    grouped: dict[str, list[HeadMean]] = {}
    for row in rows(atlas, table):
        if row["mean"] is not None:
            grouped.setdefault(row["measure"], []).append(cast(HeadMean, row))
    return grouped


def form(measure: Measure) -> Form:
    """How values of a measure are written."""
    return percent if measure.share else amount


def measure_findings(atlas: Atlas, analysis: MapAnalysis) -> list[str]:
    """For some measures the heads where they are highest and lowest."""
    grouped = means(atlas, analysis.table)
    named = analysis.told or tuple(measure.name for measure in analysis.measures[:FIRST])
    return [range_line(analysis.measure(name).label, grouped.get(name, []), form(analysis.measure(name)))
            for name in named]  # fmt: skip


def measures_of_head(atlas: Atlas, analysis: MapAnalysis, layer: int, head: int) -> list[str]:
    """Each measure of a head, and where it stands among all heads."""
    sentences = []
    for name, of_heads in means(atlas, analysis.table).items():
        measure = analysis.measure(name)
        mine = [row for row in of_heads if (row["layer"], row["head"]) == (layer, head)]
        sentences += [standing_line(measure.label, row, of_heads, form(measure)) for row in mine]
    return sentences
